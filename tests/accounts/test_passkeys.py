"""Passkeys: adding, keeping, and losing them."""

import pytest
from sqlalchemy import select, update

from app.accounts.models import Passkey, User
from app.core import clock
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    PASSWORD,
    WEB,
    details,
    error,
    events,
    new_bot,
    new_human,
    only,
    try_login,
    write,
)
from tests.accounts.passkeys import LOGIN, OWN, add, begin, begin_adding, log_in, mine, reasons
from tests.support.authenticator import (
    BACKED_UP,
    EDDSA,
    ES256,
    PRESENT,
    RS256,
    VERIFIED,
    Authenticator,
    Key,
    encoded,
)

NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
def test_a_passkey_is_added_and_logs_in(app, admin, client, algorithm):
    device = Authenticator(algorithm=algorithm)
    answer = add(admin, device, " My phone ")
    assert answer.status_code == 201, answer.json
    made = answer.json
    assert (made["name"], made["last_used_at"]) == ("My phone", None)
    assert mine(admin) == [made]
    event = only(app, "user.passkey_added")
    assert event.payload == {"username": "ada", "passkey_id": made["id"], "name": "My phone"}
    answer = log_in(client, device)
    assert answer.status_code == 200, answer.json
    assert answer.json["user"]["username"] == "ada"
    assert client.get(f"{API}/auth/me").json["username"] == "ada"
    assert mine(client)[0]["last_used_at"] is not None
    event = events(app, "auth.login.success")[-1]
    assert event.payload == {"username": "ada", "way": "passkey"}


def test_the_browser_is_told_what_is_required(app, admin, device):
    options = begin_adding(admin).json["options"]
    assert options["rp"] == {"id": "localhost", "name": "Docket"}
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["attestation"] == "none"
    assert [one["alg"] for one in options["pubKeyCredParams"]] == [-7, -8, -257]
    assert [one["id"] for one in options["excludeCredentials"]] == [encoded(device.id)]
    assert options["timeout"] == 300_000
    options = begin(app.test_client())["options"]
    assert (options["rpId"], options["userVerification"]) == ("localhost", "required")
    # The options of a login reveal nobody's passkeys.
    assert "allowCredentials" not in options


OTHER_KEY = Key(ES256)
NEW_REFUSED = {
    "origin": {"client_data": {"origin": "https://evil.example"}},
    "port": {"client_data": {"origin": "http://localhost:81"}},
    "embedded": {"client_data": {"crossOrigin": True}},
    "host": {"host": "evil.example"},
    "kind": {"kind": "webauthn.get"},
    "challenge": {"challenge": encoded(bytes(32))},
    "not verified": {"flags": PRESENT},
    "not present": {"flags": VERIFIED},
    "backup": {"flags": PRESENT | VERIFIED | BACKED_UP},
    # The library supports this algorithm, and its signatures are those of ES256.
    "algorithm": {"cose": {**OTHER_KEY.cose, 3: -9}},
    "unknown algorithm": {"cose": {**OTHER_KEY.cose, 3: -65000}},
    "no algorithm": {"cose": {1: 2}},
    "no key": {"cose": []},
    "point": {"cose": {**OTHER_KEY.cose, -2: bytes(32), -3: bytes(32)}},
    "number": {"cose": {**OTHER_KEY.cose, -2: 7}},
}


def test_what_makes_no_passkey_is_refused(app, admin):
    """One installation for all cases: none may leave anything behind."""
    for case, changes in NEW_REFUSED.items():
        answer = add(admin, Authenticator(), **changes)
        assert error(answer) == (422, "validation.invalid_field"), case
        assert details(answer) == {"field": "attestation", "reason": "not_verified"}, case
    begun = begin_adding(admin).json
    right = {"name": "Phone", "state": begun["state"], **Authenticator().make(begun["options"])}
    for case, changes in {
        "nested": {"attestation": encoded(b"\x81" * 10_000)},
        "counted": {"attestation": encoded(b"\xbb" + b"\xff" * 8)},
        "empty": {"attestation": ""},
        "no text": {"attestation": "ü"},
        "cut": {"attestation": right["attestation"][:60]},
        "no JSON": {"client_data": encoded(b"[1")},
        "a list": {"client_data": encoded(b"[]")},
        "a number": {"client_data": encoded(b'{"type": 1, "challenge": 2, "origin": 3}')},
        "long": {"attestation": "A" * 16_385},
        "long data": {"client_data": "A" * 4_097},
        "nul": {"client_data": "\x00"},
        "no name": {"name": " "},
        "long name": {"name": "x" * 101},
        "forged": {"state": "x"},
        "no state": {"state": "ü"},
        "of a login": {"state": begin(app.test_client())["state"]},
    }.items():
        answer = admin.post(OWN, json={**right, **changes})
        assert error(answer) == (422, "validation.invalid_field"), case
    assert mine(admin) == []
    assert events(app, "user.passkey_added") == []
    # A correct response to the earlier options still works, but only once.
    assert admin.post(OWN, json=right).status_code == 201
    assert details(admin.post(OWN, json=right)) == {"field": "state", "reason": "over"}


def test_a_challenge_to_add_one_is_of_one_session_and_password(app, admin, monkeypatch):
    new_human(admin, "grace")
    others = {"grace": app.test_client(), "ada": app.test_client()}
    device = Authenticator()
    begun = begin_adding(admin).json
    right = {"name": "Phone", "state": begun["state"], **device.make(begun["options"])}
    for username, other in others.items():
        assert try_login(other, username).status_code == 200
        assert details(other.post(OWN, json=right))["reason"] == "over", username
    body = {"current_password": PASSWORD, "new_password": "another horse battery"}
    assert admin.post(f"{API}/auth/change-password", json=body, headers=WEB).status_code == 204
    assert details(admin.post(OWN, json=right))["reason"] == "over"
    begun = begin_adding(admin, "another horse battery").json
    right = {"name": "Phone", "state": begun["state"], **device.make(begun["options"])}
    later = clock.now_ms() + 5 * 60_000
    monkeypatch.setattr("app.accounts.ceremonies.now_ms", lambda: later)
    assert details(admin.post(OWN, json=right))["reason"] == "over"


def test_adding_one_takes_the_password_and_guesses_are_limited(app, admin):
    for _ in range(5):
        answer = begin_adding(admin, "wrong horse battery")
        assert error(answer) == (400, "auth.current_password_invalid")
    assert error(begin_adding(admin)) == (429, "rate_limit.exceeded")


def test_ten_at_most_and_none_twice(app, admin, device):
    again = add(admin, device)
    assert error(again) == (409, "resource.conflict")
    new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    assert error(add(other, device)) == (409, "resource.conflict")
    begun = begin_adding(admin).json
    late = {"name": "Late", "state": begun["state"], **Authenticator().make(begun["options"])}
    for number in range(9):
        assert add(admin, Authenticator(), f"Key {number}").status_code == 201
    assert len(mine(admin)) == 10
    assert error(begin_adding(admin)) == (409, "resource.conflict")
    assert error(admin.post(OWN, json=late)) == (409, "resource.conflict")
    # Each person has their own list, which has pages.
    assert mine(other) == []
    page = admin.get(f"{OWN}?limit=4").json
    assert (len(page["data"]), page["page"]["has_more"]) == (4, True)


def test_it_logs_in_no_more_once_removed_or_its_owner_is_deactivated(app, admin, device):
    new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    ada = admin.get(f"{API}/auth/me").json["id"]
    assert other.patch(f"{API}/users/{ada}", json={"is_active": False}).status_code == 200
    assert log_in(app.test_client(), device).status_code == 401
    assert other.patch(f"{API}/users/{ada}", json={"is_active": True}).status_code == 200
    client = app.test_client()
    device.count += 1
    assert log_in(client, device).status_code == 200
    elsewhere = app.test_client()
    device.count += 1
    assert log_in(elsewhere, device).status_code == 200
    passkey_id = mine(client)[0]["id"]
    remove = f"{OWN}/{passkey_id}/remove"
    wrong = client.post(remove, json={"current_password": "wrong horse battery"})
    assert error(wrong) == (400, "auth.current_password_invalid")
    body = {"current_password": PASSWORD}
    assert error(other.post(remove, json=body)) == (404, "resource.not_found")
    assert client.post(remove, json=body).status_code == 204
    assert error(client.post(remove, json=body)) == (404, "resource.not_found")
    # The sessions of the passkey end, except the one that removed it.
    me = [one.get(f"{API}/auth/me").status_code for one in (client, elsewhere)]
    assert me == [200, 401]
    device.count += 1
    assert log_in(app.test_client(), device).status_code == 401
    assert reasons(app) == ["passkey_inactive", "passkey_unknown"]
    event = only(app, "user.passkey_removed")
    assert event.payload == {"username": "ada", "passkey_id": passkey_id, "name": "Phone"}


def test_its_owner_renames_it(app, admin, device):
    passkey_id = mine(admin)[0]["id"]
    answer = admin.patch(f"{OWN}/{passkey_id}", json={"name": "Laptop"})
    assert (answer.status_code, answer.json["name"]) == (200, "Laptop")
    assert admin.patch(f"{OWN}/{passkey_id}", json={"name": "Laptop"}).status_code == 200
    changes = {"name": {"from": "Phone", "to": "Laptop"}}
    assert only(app, "user.passkey_renamed").payload == {
        "username": "ada",
        "passkey_id": passkey_id,
        "changes": changes,
    }
    assert admin.patch(f"{OWN}/{passkey_id}", json={"name": " "}).status_code == 422
    for missing in (NOBODY, "x"):
        assert admin.patch(f"{OWN}/{missing}", json={"name": "x"}).status_code == 404


def test_others_see_and_remove_it_for_whoever_lost_it(app, admin, device):
    grace = new_human(admin, "grace")
    other = app.test_client()
    assert try_login(other, "grace").status_code == 200
    ada = admin.get(f"{API}/auth/me").json["id"]
    listed = other.get(f"{API}/users/{ada}/passkeys").json["data"]
    assert listed == mine(admin)
    one = f"{API}/users/{ada}/passkeys/{listed[0]['id']}"
    assert error(admin.delete(one)) == (409, "resource.conflict")
    theirs = f"{API}/users/{grace['id']}/passkeys/{listed[0]['id']}"
    assert admin.delete(theirs).status_code == 404
    lost = app.test_client()
    assert log_in(lost, device).status_code == 200
    assert other.delete(one).status_code == 204
    assert [two.get(f"{API}/auth/me").status_code for two in (lost, admin)] == [401, 200]
    assert other.delete(one).status_code == 404
    event = only(app, "user.passkey_removed")
    assert (event.actor_user_id, event.target_id) == (grace["id"], ada)
    assert log_in(app.test_client(), device).status_code == 401
    bot, _ = new_bot(admin)
    for user_id in (bot["id"], NOBODY, "x"):
        assert admin.get(f"{API}/users/{user_id}/passkeys").status_code == 404
        assert admin.delete(f"{API}/users/{user_id}/passkeys/{NOBODY}").status_code == 404


def test_the_operator_lists_and_removes_them_by_command(app, admin, device, setting):
    assert add(admin, Authenticator(), "Laptop").status_code == 201
    laptop, phone = (one["id"] for one in mine(admin))

    def flask(*args):
        result = app.test_cli_runner().invoke(args=["users", *args])
        return result.exit_code, result.output

    listed = f"{laptop} never used               Laptop\n{phone} never used               Phone\n"
    assert flask("passkeys", "ada") == (0, listed)
    assert flask("remove-passkeys", "ada", laptop) == (0, "Removed 1 passkey of ada.\n")
    assert flask("remove-passkeys", "ada", laptop)[0] == 1
    assert add(admin, Authenticator(), "Tablet").status_code == 201
    left = "Passkeys of ada still log in. 'flask users remove-passkeys ada' removes them.\n"
    assert flask("reset-password", "ada", "--password", PASSWORD)[1].endswith(left)
    setting("password_login", value=False)
    assert left not in flask("reset-password", "ada", "--password", PASSWORD)[1]
    setting("password_login", value=True)
    assert flask("remove-passkeys", "ada") == (0, "Removed 2 passkeys of ada.\n")
    assert left not in flask("reset-password", "ada", "--password", PASSWORD)[1]
    assert try_login(admin, "ada").status_code == 200
    assert mine(admin) == []
    assert {one.actor_kind for one in events(app, "user.passkey_removed")} == {"system"}


def test_only_the_public_part_is_kept(app, admin, device):
    with app.app_context(), reading():
        row = session.scalars(select(Passkey)).one()
    assert device.id in row.credential
    told = str([(event.event_type, event.payload) for event in events(app)])
    assert encoded(device.id) not in told


def test_people_without_a_password_have_none(app, admin):
    write(app, update(User).values(password_hash=None))
    assert error(begin_adding(admin)) == (400, "auth.current_password_invalid")


def test_without_logins_of_our_own_or_a_fit_address_there_are_none(app, admin, device, setting):
    client = app.test_client()
    begun = begin(client)
    made = begin_adding(admin).json
    sent = {"name": "x", "state": made["state"], **Authenticator().make(made["options"])}
    passkey_id = mine(admin)[0]["id"]

    def refusals():
        answers = [
            client.post(f"{LOGIN}/options", json={}),
            log_in(client, device, begun),
            begin_adding(admin),
            admin.post(OWN, json=sent),
        ]
        assert [answer.status_code for answer in answers] == [403] * 4
        return {details(answer)["reason"] for answer in answers}

    setting("password_login", value=False)
    assert refusals() == {"password_login_off"}
    setting("password_login", value=True)
    for address in ("http://tickets.example.org", "https://192.0.2.1", "https://[::1]:8443"):
        setting("base_url", address)
        assert refusals() == {"passkeys_unavailable"}
    # Existing passkeys can still be listed and removed.
    assert mine(admin)[0]["id"] == passkey_id
    body = {"current_password": PASSWORD}
    assert admin.post(f"{OWN}/{passkey_id}/remove", json=body).status_code == 204
