"""The pages of passkeys: the profile, the login and its second step, the page of people."""

import base64
import re

import pytest

from app.accounts import second_factor, totp
from tests.accounts.helpers import API, PASSWORD, events, new_human, only, try_login
from tests.accounts.passkeys import add, begin, begin_adding, mine
from tests.support.authenticator import PRESENT, Authenticator

PASSKEYS = "/profile/passkeys"


@pytest.fixture
def device(app, admin):
    """Ada's passkey."""
    made = Authenticator()
    assert add(admin, made).status_code == 201
    return made


def answered(client, device, **changes):
    """The form that the script submits at a login."""
    begun = begin(client)
    answer = device.answer(begun["options"], **changes)
    return {"state": begun["state"], **{name: value or "" for name, value in answer.items()}}


def turn_on_codes(client):
    made = client.post(f"{API}/users/me/totp", json={"current_password": PASSWORD}).json
    secret = base64.b32decode(made["secret"])
    code = totp.code_at(secret, second_factor.now_ms() // totp.STEP_MS)
    answer = client.post(f"{API}/users/me/totp/confirm", json={"code": code})
    return answer.json["recovery_codes"]


def test_the_profile_adds_renames_and_removes_one(app, admin):
    assert PASSKEYS in admin.get("/profile").text
    page = admin.get(PASSKEYS).text
    assert 'data-origin="http://localhost"' in page
    assert f"{PASSKEYS}/" not in page
    begun = begin_adding(admin).json
    device = Authenticator()
    sent = {"name": " Phone ", "state": begun["state"], **device.make(begun["options"])}
    wrong = admin.post(PASSKEYS, data={**sent, "attestation": "x"})
    assert (wrong.status_code, "did not create a passkey" in wrong.text) == (422, True)
    wrong = admin.post(PASSKEYS, data={**sent, "name": ""})
    assert (wrong.status_code, 'id="name-problem"' in wrong.text) == (422, True)
    done = admin.post(PASSKEYS, data=sent)
    assert (done.status_code, done.location) == (303, f"{PASSKEYS}?saved=added")
    page = admin.get(done.location).text
    assert "Passkey added" in page
    assert "Never used" in page
    one = f"{PASSKEYS}/{mine(admin)[0]['id']}"
    assert one in page
    assert 'value="Phone"' in admin.get(one).text
    assert admin.post(f"{one}/name", data={"name": " "}).status_code == 422
    assert admin.post(f"{one}/name", data={"name": "Laptop"}).location.endswith("saved=renamed")
    assert "Laptop" in admin.get(PASSKEYS).text
    wrong = admin.post(f"{one}/remove", data={"current_password": "wrong horse battery"})
    assert (wrong.status_code, "is incorrect" in wrong.text) == (422, True)
    done = admin.post(f"{one}/remove", data={"current_password": PASSWORD})
    assert done.location == f"{PASSKEYS}?saved=removed"
    assert mine(admin) == []
    for path in (one, f"{PASSKEYS}/x"):
        assert admin.get(path).status_code == 404
    assert admin.post(f"{one}/name", data={"name": "x"}).status_code == 404


def test_it_says_where_there_are_none(app, admin, setting):
    setting("base_url", "https://192.0.2.1")
    assert "work at this address" in admin.get(PASSKEYS).text
    setting("password_login", value=False)
    assert "passkeys are off" in admin.get(PASSKEYS).text


def test_ten_are_the_end(app, admin):
    for _ in range(10):
        assert add(admin, Authenticator()).status_code == 201
    page = admin.get(PASSKEYS).text
    assert "Remove one to add another" in page
    assert "add-passkey" not in page


def test_the_login_offers_them_once_there_are_some(app, admin, client, setting):
    assert "passkey" not in client.get("/login").text
    assert add(admin, Authenticator()).status_code == 201
    page = client.get("/login").text
    assert "Use a passkey" in page
    assert 'autocomplete="username webauthn"' in page
    setting("base_url", "http://tickets.example.org")
    assert "passkey" not in client.get("/login").text


def test_the_login_takes_one(app, admin, device, client):
    form = {"username": "", "password": "", "next": "/tickets"}
    wrong = client.post("/login", data={**form, **answered(client, device, flags=PRESENT)})
    assert (wrong.status_code, "was not accepted" in wrong.text) == (422, True)
    assert "Use a passkey" in wrong.text
    wrong = client.post("/login", data={**form, **answered(client, device), "state": "x"})
    assert (wrong.status_code, "took too long" in wrong.text) == (422, True)
    done = client.post("/login", data={**form, **answered(client, device)})
    assert (done.status_code, done.location) == (303, "/tickets")
    assert client.get("/tickets").status_code == 200
    for _ in range(5):
        wrong = app.test_client().post("/login", data=answered(client, device, flags=PRESENT))
    assert (wrong.status_code, "Too many attempts" in wrong.text) == (429, True)


def test_it_replaces_the_code_after_a_password(app, admin, device):
    turn_on_codes(admin)
    new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    theirs = Authenticator()
    assert add(other, theirs).status_code == 201
    client = app.test_client()

    def first_step(username="ada"):
        form = {"username": username, "password": PASSWORD, "next": "/tickets"}
        return client.post("/login", data=form)

    def second_step(device, **changes):
        form = {"code": "", "next": "/tickets", **answered(client, device, **changes)}
        return client.post("/login", data=form)

    assert "Use a passkey instead" in first_step().text
    # Another person's passkey is not accepted as ada's second step.
    wrong = second_step(theirs)
    assert (wrong.status_code, "was not accepted" in wrong.text) == (422, True)
    assert "Use a passkey instead" in wrong.text
    failure = events(app, "auth.login.failure")[-1]
    assert failure.payload == {"username": "grace", "reason": "passkey_another_person"}
    done = second_step(device)
    assert (done.status_code, done.location) == (303, "/tickets")
    success = events(app, "auth.login.success")[-1]
    assert success.payload == {"username": "ada", "way": "password_and_passkey"}
    assert client.get_cookie("app_login_step") is None
    # A login step that is over needs the password again, also for passkeys.
    client.set_cookie("app_login_step", "ab" * 40)
    wrong = second_step(device)
    assert (wrong.status_code, "Enter your password again" in wrong.text) == (422, True)


def test_whoever_has_codes_and_no_passkey_is_offered_none(app, admin):
    turn_on_codes(admin)
    new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    assert add(other, Authenticator()).status_code == 201
    form = {"username": "ada", "password": PASSWORD}
    assert "passkey" not in app.test_client().post("/login", data=form).text


def test_the_ways_in_are_told_apart(app, admin, device, client):
    code = turn_on_codes(admin)[0]
    body = {"username": "ada", "password": PASSWORD, "code": code}
    assert client.post(f"{API}/auth/login", json=body).status_code == 200
    assert client.post("/login", data=answered(client, device)).status_code == 303
    ways = [event.payload["way"] for event in events(app, "auth.login.success")]
    assert ways == ["setup", "password_and_code", "passkey"]


def test_teammates_reset_codes_and_passkeys_on_the_page_of_people(app, admin, device, setting):
    new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    ada = admin.get(f"{API}/auth/me").json["id"]

    def button():
        found = re.search(r'quiet danger tiny">([^<]+)<', other.get("/people").text)
        return found and found[1]

    assert button() == "Remove passkeys"
    # Actions that leave passkeys in place say so, as long as passkeys can be used.
    assert try_login(app.test_client(), "ada").status_code == 200

    def said():
        return [
            "Their passkeys still log in" in other.post(f"/people/{ada}/link").text,
            "Your passkeys keep working" in admin.get("/profile").text,
            "Your password and passkeys still log in" in admin.get("/profile/sessions").text,
        ]

    assert said() == [True] * 3
    # Browsers refuse passkeys at an IP address.
    setting("base_url", "http://192.0.2.7")
    assert said() == [False] * 3
    setting("base_url", "http://localhost")
    turn_on_codes(admin)
    assert button() == "Reset two-factor and passkeys"
    assert other.post(f"/people/{ada}/two-factor").location == "/people"
    assert mine(admin) == []
    assert said() == [False] * 3
    assert only(app, "user.passkey_removed").actor_kind == "human"
    assert only(app, "user.totp_disabled").target_id == ada
    assert other.post(f"/people/{ada}/two-factor").status_code == 409
    assert add(admin, Authenticator()).status_code == 201
    assert other.post(f"/people/{ada}/two-factor").location == "/people"
    assert mine(admin) == []


def test_with_two_factor_on_adding_one_takes_a_code(app, admin):
    assert 'name="code"' not in admin.get(PASSKEYS).text
    codes = turn_on_codes(admin)
    assert 'name="code"' in admin.get(PASSKEYS).text
    path = f"{API}/users/me/passkeys/options"
    for given in ({}, {"code": "000000"}):
        answer = admin.post(path, json={"current_password": PASSWORD, **given})
        assert answer.status_code == 422
        assert "The code is incorrect" in answer.text
        # The script focuses this field.
        assert answer.json["error"]["details"]["field"] == "code"
    given = {"current_password": PASSWORD, "code": codes[0]}
    begun = admin.post(path, json=given).json
    made = Authenticator().make(begun["options"])
    sent = {"name": "Phone", "state": begun["state"], **made}
    assert admin.post(f"{API}/users/me/passkeys", json=sent).status_code == 201
    # A code works once.
    assert admin.post(path, json=given).status_code == 422
