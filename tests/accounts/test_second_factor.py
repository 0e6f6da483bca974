"""The second factor of logins: setting it up, logging in with it, and losing it."""

import base64

import pytest
from sqlalchemy import select, update

from app.accounts import second_factor, totp
from app.accounts.models import RecoveryCode, SecondFactor
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
    write,
)
from tests.accounts.second_factors import TOTP, WRONG, Phone, log_in

pytestmark = pytest.mark.usefixtures("still")


def disable(client, code, **fields):
    body = {"current_password": PASSWORD, "code": code, **fields}
    return client.post(f"{TOTP}/disable", json=body)


def test_without_one_nothing_changes(app, admin, client):
    assert admin.get(TOTP).json == {"is_enabled": False, "recovery_codes_left": 0}
    assert log_in(client).status_code == 200
    # A code that is not required does no harm.
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


def test_nothing_of_it_is_in_the_order_of_events_before_it_is_on(app, admin):
    admin.post(TOTP, json={"current_password": PASSWORD})
    assert not [name for name in event_types(app) if "totp" in name]
