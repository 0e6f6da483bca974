import threading

import pytest
from sqlalchemy import select

from app.accounts import passwords
from app.accounts.models import User
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    PASSWORD,
    at_once,
    cookie_of,
    details,
    error,
    event_types,
    events,
    logged_in,
    new_bot,
    new_human,
    only,
    try_login,
)

USERS = f"{API}/users"
ME = f"{API}/auth/me"
OTHER_PASSWORD = "another horse battery"
LONG = "too_long"


def test_update_changes_and_records_what_changed(app, admin):
    grace = new_human(admin, "grace")
    answer = admin.patch(f"{USERS}/{grace['id']}", json={"display_name": "Grace"})
    assert answer.status_code == 200
    assert answer.json == {
        **grace,
        "display_name": "Grace",
        "updated_at": answer.json["updated_at"],
    }
    assert answer.json["updated_at"] > grace["updated_at"]
    event = only(app, "user.updated")
    assert event.payload == {"changes": {"display_name": {"from": "grace", "to": "Grace"}}}
    assert (event.target_kind, event.target_id) == ("user", grace["id"])


@pytest.mark.parametrize("body", [{}, {"display_name": "grace"}, {"is_active": True}])
def test_update_that_changes_nothing_records_nothing(app, admin, body):
    grace = new_human(admin, "grace")
    before = event_types(app)
    answer = admin.patch(f"{USERS}/{grace['id']}", json=body)
    assert (answer.status_code, answer.json) == (200, grace)
    assert event_types(app) == before


def test_new_password_ends_all_sessions_of_that_person_alone(app, admin):
    grace = new_human(admin, "grace")
    browsers = [logged_in(app, "grace") for _ in range(2)]
    answer = admin.patch(f"{USERS}/{grace['id']}", json={"password": OTHER_PASSWORD})
    assert answer.status_code == 200
    assert answer.json["updated_at"] > grace["updated_at"]
    for browser in browsers:
        assert error(browser.get(ME)) == (401, "auth.unauthenticated")
    assert admin.get(ME).status_code == 200
    assert error(try_login(app.test_client(), "grace")) == (401, "auth.invalid_credentials")
    assert try_login(app.test_client(), "grace", OTHER_PASSWORD).status_code == 200
    assert only(app, "user.updated").payload == {"password_changed": True}


def test_deactivation_keeps_a_person_out_until_activated_again(app, admin):
    grace = new_human(admin, "grace")
    browser = logged_in(app, "grace")
    assert (
        admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False}).json["is_active"] is False
    )
    assert error(browser.get(ME)) == (401, "auth.unauthenticated")
    assert error(try_login(app.test_client(), "grace")) == (401, "auth.invalid_credentials")
    admin.patch(f"{USERS}/{grace['id']}", json={"is_active": True})
    assert try_login(app.test_client(), "grace").status_code == 200
    changes = [event.payload["changes"] for event in events(app, "user.updated")]
    assert changes == [
        {"is_active": {"from": True, "to": False}},
        {"is_active": {"from": False, "to": True}},
    ]


def test_display_name_change_ends_no_session(app, admin):
    grace = new_human(admin, "grace")
    browser = logged_in(app, "grace")
    admin.patch(f"{USERS}/{grace['id']}", json={"display_name": "G", "is_active": True})
    assert browser.get(ME).status_code == 200


def test_last_active_human_stays_active(app, admin):
    me = admin.get(ME).json["id"]
    grace = new_human(admin, "grace")
    new_bot(admin)
    admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False})
    before = event_types(app)
    answer = admin.patch(f"{USERS}/{me}", json={"is_active": False, "display_name": "Gone"})
    assert error(answer) == (409, "resource.conflict")
    assert details(answer) == {"reason": "invariant_violation"}
    assert admin.get(ME).json["display_name"] == "ada"
    assert event_types(app) == before
    # Deactivating an inactive person is no change.
    assert admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False}).status_code == 200


@pytest.mark.parametrize("_round", range(2))
def test_two_who_deactivate_each_other_leave_one_active(app, admin, _round):
    grace = new_human(admin, "grace")
    other = logged_in(app, "grace")
    me = admin.get(ME).json["id"]
    pairs = [(admin, grace["id"]), (other, me)]

    def deactivate(number):
        browser, victim = pairs[number]
        return browser.patch(f"{USERS}/{victim}", json={"is_active": False}).status_code

    answers = at_once(2, deactivate)
    assert answers.count(200) == 1
    with app.app_context(), reading():
        active = session.scalars(select(User.username).where(User.is_active)).all()
    assert len(active) == 1


@pytest.mark.parametrize("_round", range(2))
def test_of_all_who_deactivate_themselves_one_stays_active(app, admin, _round):
    names = ["grace", "hedy", "mary"]
    pairs = [(admin, admin.get(ME).json["id"])]
    for name in names:
        human = new_human(admin, name)
        pairs.append((logged_in(app, name), human["id"]))

    def deactivate(number):
        browser, me = pairs[number]
        return browser.patch(f"{USERS}/{me}", json={"is_active": False}).status_code

    answers = at_once(4, deactivate)
    assert (answers.count(200), answers.count(409)) == (3, 1)


@pytest.mark.parametrize("fields", [{"is_active": False}, {"password": OTHER_PASSWORD}])
def test_person_who_hammers_is_shut_out_at_once(app, admin, fields):
    grace = new_human(admin, "grace")
    token = cookie_of(logged_in(app, "grace"))
    over, stop, late, early = threading.Event(), threading.Event(), [], []

    def hammer(number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        while not stop.is_set():
            began_after = over.is_set()
            name = f"bot-{number}-{len(early)}-{len(late)}"
            answer = browser.post(f"{API}/bots", json={"username": name, "mode": "read"})
            if answer.status_code == 201:
                (late if began_after else early).append(name)
            elif answer.status_code == 401:
                browser.set_cookie("app_session", token)

    def shut_out():
        try:
            while len(early) < 20 and not stop.wait(0.005):
                pass
            answer = admin.patch(f"{USERS}/{grace['id']}", json=fields)
            assert answer.status_code == 200, answer.json
            over.set()
            stop.wait(0.2)
        finally:
            stop.set()

    at_once(6, lambda number: shut_out() if number == 5 else hammer(number))
    assert len(early) >= 20
    assert late == []


@pytest.mark.parametrize("identifier", ["me", "not-a-uuid", "00000000-0000-7000-8000-000000000000"])
def test_update_of_nobody_is_not_found(admin, identifier):
    answer = admin.patch(f"{USERS}/{identifier}", json={"password": "short"})
    assert error(answer) == (404, "resource.not_found")
    assert details(answer) == {"resource": "user", "id": identifier}


def test_update_of_a_bot_is_not_found(admin):
    bot, _ = new_bot(admin)
    answer = admin.patch(f"{USERS}/{bot['id']}", json={"is_active": False})
    assert error(answer) == (404, "resource.not_found")
    assert admin.get(f"{API}/bots/{bot['id']}").json == bot


def test_path_takes_upper_case_ids(admin):
    grace = new_human(admin, "grace")
    answer = admin.patch(f"{USERS}/{grace['id'].upper()}", json={})
    assert answer.json == grace


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "status", "code", "found"),
    [
        ({"password": "a" * 11}, 400, "validation.password_too_short", None),
        ({"password": "a" * 1025}, 422, "validation.invalid_field", ("password", "too_long")),
        ({"display_name": "a" * 201}, 422, "validation.invalid_field", ("display_name", LONG)),
        ({"username": "grace2"}, 422, "validation.invalid_field", ("username", "immutable")),
        ({"type": "bot"}, 422, "validation.invalid_field", ("type", "immutable")),
        ({"id": "x"}, 422, "validation.invalid_field", ("id", "immutable")),
        ({"is_active": "no"}, 422, "request.validation_error", None),
        ({"is_active": None}, 422, "request.validation_error", None),
        ({"mode": "read"}, 422, "request.validation_error", None),
    ],
)  # fmt: skip
def test_update_checks_its_fields(app, admin, fields, status, code, found):
    grace = new_human(admin, "grace")
    answer = admin.patch(f"{USERS}/{grace['id']}", json=fields)
    assert error(answer) == (status, code)
    if found:
        assert (details(answer)["field"], details(answer)["reason"]) == found
    assert events(app, "user.updated") == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/users", {"username": "eve", "password": PASSWORD}),
        ("PATCH", "/users/{victim}", {"password": OTHER_PASSWORD}),
        (
            "POST",
            "/auth/change-password",
            {"current_password": PASSWORD, "new_password": OTHER_PASSWORD},
        ),
    ],
)
def test_session_that_ends_while_a_password_is_hashed_writes_nothing(
    app, admin, monkeypatch, method, path, body
):
    grace = new_human(admin, "grace")
    browser = logged_in(app, "grace")
    victim = admin.get(ME).json["id"]
    real = passwords.hash_new

    def ending(password, cost):
        monkeypatch.setattr(passwords, "hash_new", real)
        answer = admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False})
        assert answer.status_code == 200
        return real(password, cost)

    monkeypatch.setattr(passwords, "hash_new", ending)
    answer = browser.open(
        API + path.format(victim=victim),
        method=method,
        json=body,
        headers={"X-Requested-By": "web"},
    )
    assert error(answer) == (401, "auth.unauthenticated")
    assert [event.payload for event in events(app, "user.updated")] == [
        {"changes": {"is_active": {"from": True, "to": False}}}
    ]
    assert len(events(app, "user.created")) == 2


def test_passwords_appear_in_no_event_and_no_answer(app, admin):
    grace = new_human(admin, "grace")
    answer = admin.patch(f"{USERS}/{grace['id']}", json={"password": OTHER_PASSWORD})
    kept = answer.text + "".join(str(event.payload) for event in events(app))
    assert PASSWORD not in kept
    assert OTHER_PASSWORD not in kept
    assert "argon2" not in kept
