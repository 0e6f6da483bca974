"""The second factor of logins: setting it up, logging in with it, and losing it."""

import base64

import pytest
from sqlalchemy import select, update

from app.accounts import second_factor, totp
from app.accounts.models import RecoveryCode, SecondFactor
from app.core import clock
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    PASSWORD,
    at_once,
    details,
    error,
    event_types,
    events,
    new_bot,
    new_human,
    only,
    set_up,
    try_login,
    write,
)

TOTP = f"{API}/users/me/totp"
WRONG = "000000"


class Phone:
    """An authenticator app whose clock moves on with each code, so that none comes twice."""

    def __init__(self, secret):
        self.secret = base64.b32decode(secret)
        self.step = second_factor.now_ms() // totp.STEP_MS - 1

    def code(self):
        self.step += 1
        return totp.code_at(self.secret, self.step)


@pytest.fixture(autouse=True)
def _still(monkeypatch):
    """A time that stays in the middle of a step."""
    moment = clock.now_ms() // totp.STEP_MS * totp.STEP_MS + 15_000
    for name in ("app.accounts.second_factor", "app.accounts.login"):
        monkeypatch.setattr(f"{name}.now_ms", lambda: moment)


@pytest.fixture
def phone(app, admin):
    """Ada's app, after she turned it on; ``codes`` are her recovery codes."""
    made = admin.post(TOTP, json={"current_password": PASSWORD})
    assert made.status_code == 200, made.json
    phone = Phone(made.json["secret"])
    phone.step -= 1
    answer = admin.post(f"{TOTP}/confirm", json={"code": phone.code()})
    assert answer.status_code == 200, answer.json
    phone.codes = answer.json["recovery_codes"]
    return phone


def log_in(client, code=None, username="ada"):
    body = {"username": username, "password": PASSWORD}
    return client.post(f"{API}/auth/login", json=body if code is None else {**body, "code": code})


def disable(client, code, **fields):
    body = {"current_password": PASSWORD, "code": code, **fields}
    return client.post(f"{TOTP}/disable", json=body)


def test_without_one_nothing_changes(app, admin, client):
    assert admin.get(TOTP).json == {"is_enabled": False, "recovery_codes_left": 0}
    assert log_in(client).status_code == 200
    # A code that nobody asked for is no harm.
    assert log_in(client, WRONG).status_code == 200


def test_a_secret_that_was_not_confirmed_asks_for_nothing(app, admin, client):
    made = admin.post(TOTP, json={"current_password": PASSWORD})
    assert made.json["otpauth_uri"].startswith("otpauth://totp/Docket:ada?secret=")
    assert log_in(client).status_code == 200
    answer = admin.post(f"{TOTP}/confirm", json={"code": WRONG})
    assert error(answer) == (422, "validation.invalid_field")
    assert details(answer) == {"field": "code", "reason": "incorrect"}
    assert admin.get(TOTP).json["is_enabled"] is False


@pytest.mark.parametrize("later_ms", [second_factor.SET_UP_MS, -1])
def test_a_set_up_ends_after_ten_minutes(app, admin, monkeypatch, later_ms):
    phone = Phone(admin.post(TOTP, json={"current_password": PASSWORD}).json["secret"])
    moment = second_factor.now_ms() + later_ms
    monkeypatch.setattr("app.accounts.second_factor.now_ms", lambda: moment)
    code = totp.code_at(phone.secret, moment // totp.STEP_MS)
    assert error(admin.post(f"{TOTP}/confirm", json={"code": code})) == (409, "resource.conflict")
    answer = admin.post("/profile/two-factor/confirm", data={"code": WRONG})
    assert (answer.status_code, answer.location) == (303, "/profile/two-factor")
    assert admin.get(TOTP).json["is_enabled"] is False


def test_only_the_session_that_began_a_set_up_ends_it_and_sees_its_secret(app, admin, client):
    made = admin.post(TOTP, json={"current_password": PASSWORD})
    phone = Phone(made.json["secret"])
    assert log_in(client).status_code == 200
    answer = client.post(f"{TOTP}/confirm", json={"code": phone.code()})
    assert error(answer) == (409, "resource.conflict")
    shown = client.post("/profile/two-factor/confirm", data={"code": WRONG})
    assert (shown.status_code, shown.location) == (303, "/profile/two-factor")
    shown = admin.post("/profile/two-factor/confirm", data={"code": WRONG})
    assert (shown.status_code, made.json["secret"][:4] in shown.text) == (422, True)
    assert admin.post(f"{TOTP}/confirm", json={"code": phone.code()}).status_code == 200


def test_it_is_turned_on_and_asked_for(app, admin, phone, client):
    assert admin.get(TOTP).json == {"is_enabled": True, "recovery_codes_left": 10}
    assert len(set(phone.codes)) == 10
    answer = log_in(client)
    assert error(answer) == (401, "auth.invalid_credentials")
    assert details(answer) == {"reason": "totp_required"}
    assert "Set-Cookie" not in answer.headers
    assert only(app, "auth.totp.asked").payload == {"username": "ada"}
    answer = log_in(client, phone.code())
    assert answer.status_code == 200
    assert client.get(f"{API}/auth/me").json["username"] == "ada"
    for name in ("user.totp_enabled", "user.recovery_codes_made"):
        event = only(app, name)
        assert (event.payload, event.target_id) == ({"username": "ada"}, answer.json["user"]["id"])


def test_who_does_not_know_the_password_learns_nothing_of_it(app, admin, phone, client):
    for code in (None, phone.code()):
        body = {"username": "ada", "password": "wrong horse battery"}
        answer = client.post(
            f"{API}/auth/login", json=body if code is None else {**body, "code": code}
        )
        assert error(answer) == (401, "auth.invalid_credentials")
        assert "details" not in answer.json["error"]
    # The wrong password used up no code.
    assert log_in(client, totp.code_at(phone.secret, phone.step)).status_code == 200


def test_a_code_works_once(app, admin, phone):
    code = phone.code()
    assert log_in(app.test_client(), code).status_code == 200
    answer = log_in(app.test_client(), code)
    assert (error(answer), details(answer)["reason"]) == (
        (401, "auth.invalid_credentials"),
        "totp_invalid",
    )


def test_of_many_logins_at_once_with_one_code_one_gets_in(app, admin, phone):
    code = phone.code()
    answers = at_once(4, lambda _: log_in(app.test_client(), code).status_code)
    assert sorted(answers) == [200, 401, 401, 401]


def test_wrong_codes_count_like_logins_and_are_audited(app, admin, phone):
    for _ in range(5):
        assert log_in(app.test_client(), WRONG).status_code == 401
    answer = log_in(app.test_client(), phone.code())
    assert error(answer) == (429, "rate_limit.exceeded")
    failures = events(app, "auth.login.failure")
    assert [event.payload for event in failures] == [
        {"username": "ada", "reason": "wrong_code"}
    ] * 5
    assert {event.actor_user_id for event in failures} == {failures[0].target_id}


def test_a_recovery_code_works_once_in_any_form(app, admin, phone):
    code = phone.codes[3]
    assert log_in(app.test_client(), code.upper().replace("-", " ")).status_code == 200
    assert log_in(app.test_client(), code).status_code == 401
    assert admin.get(TOTP).json["recovery_codes_left"] == 9
    assert only(app, "user.recovery_code_used").payload == {"username": "ada", "left": 9}


def test_nobody_has_the_recovery_codes_of_another(app, admin, phone, client):
    new_human(admin, "grace")
    assert log_in(client, username="grace").status_code == 200
    made = client.post(TOTP, json={"current_password": PASSWORD}).json
    theirs = Phone(made["secret"])
    assert client.post(f"{TOTP}/confirm", json={"code": theirs.code()}).status_code == 200
    assert log_in(app.test_client(), phone.codes[0], username="grace").status_code == 401
    assert log_in(app.test_client(), phone.codes[0]).status_code == 200


def test_new_recovery_codes_replace_the_old(app, admin, phone):
    body = {"current_password": PASSWORD, "code": phone.code()}
    answer = admin.post(f"{TOTP}/recovery-codes", json=body)
    assert answer.status_code == 200
    assert set(answer.json["recovery_codes"]).isdisjoint(phone.codes)
    assert log_in(app.test_client(), phone.codes[0]).status_code == 401
    assert log_in(app.test_client(), answer.json["recovery_codes"][0]).status_code == 200


def test_it_is_turned_off_with_password_and_code(app, admin, phone, client):
    assert error(disable(admin, WRONG)) == (422, "validation.invalid_field")
    assert only(app, "auth.totp.failure").payload == {"username": "ada"}
    wrong = disable(admin, phone.codes[0], current_password="wrong horse battery")
    assert error(wrong) == (400, "auth.current_password_invalid")
    assert admin.get(TOTP).json == {"is_enabled": True, "recovery_codes_left": 10}
    assert disable(admin, phone.code()).status_code == 204
    assert admin.get(TOTP).json == {"is_enabled": False, "recovery_codes_left": 0}
    assert log_in(client).status_code == 200
    assert only(app, "user.totp_disabled").payload == {"username": "ada"}


def test_guessing_its_end_is_limited(app, admin, phone):
    for _ in range(5):
        assert disable(admin, WRONG).status_code == 422
    assert error(disable(admin, phone.code())) == (429, "rate_limit.exceeded")


def test_what_is_off_cannot_be_turned_off_or_confirmed(app, admin):
    for answer in (disable(admin, WRONG), admin.post(f"{TOTP}/confirm", json={"code": WRONG})):
        assert error(answer) == (409, "resource.conflict")
    assert log_in(app.test_client()).status_code == 200


def test_what_is_on_is_not_set_up_again(app, admin, phone):
    answer = admin.post(TOTP, json={"current_password": PASSWORD})
    assert error(answer) == (409, "resource.conflict")
    assert log_in(app.test_client(), phone.code()).status_code == 200


def test_setting_it_up_takes_the_password(app, admin):
    answer = admin.post(TOTP, json={"current_password": "wrong horse battery"})
    assert error(answer) == (400, "auth.current_password_invalid")


def test_others_reset_it_for_whoever_lost_it(app, admin, phone):
    grace = new_human(admin, "grace")
    other = app.test_client()
    assert log_in(other, username="grace").status_code == 200
    ada = admin.get(f"{API}/auth/me").json["id"]
    own = admin.delete(f"{API}/users/{ada}/totp")
    assert error(own) == (409, "resource.conflict")
    assert other.delete(f"{API}/users/{ada}/totp").status_code == 204
    assert log_in(app.test_client()).status_code == 200
    event = only(app, "user.totp_disabled")
    assert (event.actor_user_id, event.target_id) == (grace["id"], ada)
    assert other.delete(f"{API}/users/{ada}/totp").status_code == 409
    bot, _ = new_bot(admin)
    for user_id in (bot["id"], "00000000-0000-7000-8000-000000000000", "me"):
        assert admin.delete(f"{API}/users/{user_id}/totp").status_code == 404


def test_the_operator_turns_it_off_by_command(app, admin, phone):
    result = app.test_cli_runner().invoke(args=["users", "disable-totp", "ada"])
    assert (result.exit_code, result.output) == (
        0,
        "Turned off two-factor authentication of ada.\n",
    )
    assert log_in(app.test_client()).status_code == 200
    assert only(app, "user.totp_disabled").actor_kind == "system"


def test_keys_of_bots_need_no_code(app, admin, phone):
    _, token = new_bot(admin)
    answer = app.test_client().get(f"{API}/auth/me", headers={"X-API-Key": token})
    assert answer.status_code == 200


def test_only_hashes_and_sealed_secrets_are_kept(app, admin, phone):
    with app.app_context(), reading():
        factor = session.scalars(select(SecondFactor)).one()
        hashes = session.scalars(select(RecoveryCode.code_hash)).all()
    assert phone.secret not in factor.sealed_secret
    plain = {code.replace("-", "") for code in phone.codes}
    assert plain.isdisjoint(hashes)
    assert {len(one) for one in hashes} == {64}
    told = str([(event.event_type, event.payload) for event in events(app)])
    assert base64.b32encode(phone.secret).decode() not in told
    assert not any(code in told for code in (*phone.codes, *plain))


def test_a_secret_of_another_key_lets_only_recovery_codes_in(app, admin, phone):
    write(app, update(SecondFactor).values(sealed_secret=b"x" * 60))
    assert log_in(app.test_client(), phone.code()).status_code == 401
    assert log_in(app.test_client(), phone.codes[0]).status_code == 200


@pytest.mark.parametrize("code", ["0" * 65, "\x00"])
def test_what_can_be_no_code_is_an_invalid_field(app, admin, phone, client, code):
    assert error(log_in(client, code)) == (422, "validation.invalid_field")
    assert error(disable(admin, code)) == (422, "validation.invalid_field")


class TestPages:
    """The login page asks for the code in a step of its own."""

    def first_step(self, client, **form):
        return client.post("/login", data={"username": "ada", "password": PASSWORD, **form})

    def second_step(self, client, code, **form):
        return client.post("/login", data={"code": code, **form})

    def test_a_login_in_two_steps(self, app, admin, phone, client):
        answer = self.first_step(client, next="/tickets")
        assert (answer.status_code, "Enter a code" in answer.text) == (200, True)
        assert client.get_cookie("app_session") is None
        step = next(one for one in answer.headers.getlist("Set-Cookie") if "app_login_step" in one)
        assert "HttpOnly" in step
        assert "SameSite=Lax" in step
        assert "Max-Age=300" in step
        assert client.get("/tickets").status_code == 401
        wrong = self.second_step(client, WRONG, next="/tickets")
        assert (wrong.status_code, "incorrect" in wrong.text) == (422, True)
        done = self.second_step(client, phone.code(), next="/tickets")
        assert (done.status_code, done.location) == (303, "/tickets")
        assert client.get("/tickets").status_code == 200
        assert client.get_cookie("app_login_step") is None

    @pytest.mark.parametrize("end", ["late", "password", "forged", "none", "inactive"])
    def test_a_step_ends(self, app, admin, phone, client, monkeypatch, end):
        self.first_step(client)
        if end == "late":
            later = clock.now_ms() + 6 * 60_000
            monkeypatch.setattr("app.accounts.login.now_ms", lambda: later)
        elif end == "password":
            body = {"current_password": PASSWORD, "new_password": "another horse battery"}
            answer = admin.post(
                f"{API}/auth/change-password", json=body, headers={"X-Requested-By": "web"}
            )
            assert answer.status_code == 204
        elif end == "forged":
            client.set_cookie("app_login_step", "ab" * 40)
        elif end == "inactive":
            new_human(admin, "grace")
            me = admin.get(f"{API}/auth/me").json["id"]
            assert admin.patch(f"{API}/users/{me}", json={"is_active": False}).status_code == 200
        else:
            client.delete_cookie("app_login_step")
        answer = self.second_step(client, phone.code())
        assert (answer.status_code, "Enter your password again" in answer.text) == (422, True)
        assert 'name="password"' in answer.text
        assert client.get("/tickets").status_code == 401

    def test_guessing_in_the_second_step_is_limited(self, app, admin, phone, client):
        self.first_step(client)
        for _ in range(5):
            assert self.second_step(client, WRONG).status_code == 422
        answer = self.second_step(client, phone.code())
        assert (answer.status_code, "Too many attempts" in answer.text) == (429, True)

    def test_a_link_to_choose_a_password_replaces_no_code(self, app, admin, phone, client):
        new_human(admin, "grace")
        other = app.test_client()
        assert try_login(other, "grace").status_code == 200
        ada = admin.get(f"{API}/auth/me").json["id"]
        page = other.post(f"/people/{ada}/link").text
        link = page.partition('value="http')[2].partition('"')[0]
        path = link[link.index("/password/") :]
        answer = client.post(path, data={"password": "another horse battery"})
        assert (answer.status_code, "Enter a code" in answer.text) == (200, True)
        assert client.get("/tickets").status_code == 401
        assert self.second_step(client, phone.code()).status_code == 303
        assert client.get("/tickets").status_code == 200

    def test_the_profile_turns_it_on_and_off(self, app, client):
        admin = set_up(app)
        assert "/profile/two-factor" in admin.get("/profile").text
        assert "Off" in admin.get("/profile/two-factor").text
        wrong = admin.post("/profile/two-factor", data={"current_password": "x"})
        assert (wrong.status_code, "incorrect" in wrong.text) == (422, True)
        asked = admin.post("/profile/two-factor", data={"current_password": PASSWORD})
        assert '<svg viewBox="0 0' in asked.text
        secret = asked.text.partition('id="secret" value="')[2].partition('"')[0].replace(" ", "")
        phone = Phone(secret)
        again = admin.post("/profile/two-factor/confirm", data={"code": WRONG})
        assert (again.status_code, secret[:4] in again.text) == (422, True)
        phone.step -= 1
        shown = admin.post("/profile/two-factor/confirm", data={"code": phone.code()})
        codes = shown.text.partition("readonly>")[2].partition("<")[0].split()
        assert len(codes) == 10
        assert shown.headers["Cache-Control"] == "no-store, no-transform"
        page = admin.get("/profile/two-factor").text
        assert "10 of 10 recovery codes" in page
        assert codes[0] not in page
        form = {"current_password": PASSWORD, "code": phone.code()}
        made = admin.post("/profile/two-factor/recovery-codes", data=form)
        assert "no longer work" in made.text
        assert codes[0] not in made.text
        form["code"] = WRONG
        assert admin.post("/profile/two-factor/disable", data=form).status_code == 422
        form["code"] = phone.code()
        assert admin.post("/profile/two-factor/disable", data=form).status_code == 303
        assert "Off" in admin.get("/profile/two-factor").text

    def test_teammates_reset_it_on_the_page_of_people(self, app, admin, phone):
        new_human(admin, "grace")
        other = app.test_client()
        assert try_login(other, "grace").status_code == 200
        assert "Reset two-factor" in other.get("/people").text
        ada = admin.get(f"{API}/auth/me").json["id"]
        assert other.post(f"/people/{ada}/two-factor").location == "/people"
        assert "Reset two-factor" not in other.get("/people").text
        assert other.post(f"/people/{ada}/two-factor").status_code == 409

    def test_the_dialog_of_a_page_whose_session_ended_asks_for_the_code(self, admin, phone, client):
        htmx = {"HX-Request": "true"}
        form = {"username": "ada", "password": PASSWORD}
        answer = client.post("/login", data=form, headers=htmx)
        assert 'id="again-title"' in answer.text
        assert 'name="code"' in answer.text
        answer = client.post("/login", data={"code": phone.code()}, headers=htmx)
        assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/")


def test_nothing_of_it_is_in_the_order_of_events_before_it_is_on(app, admin):
    admin.post(TOTP, json={"current_password": PASSWORD})
    assert not [name for name in event_types(app) if "totp" in name]
