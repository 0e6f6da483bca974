import re
import threading

import pytest
from flask import request
from sqlalchemy import select

from app.accounts import authentication, credentials
from app.accounts.models import BotToken
from app.database.session import reading, session, transaction
from tests.accounts.helpers import (
    API,
    at_once,
    cookie_of,
    details,
    error,
    events,
    key_of,
    me_by_key,
    new_bot,
    new_project,
    only,
)

BOTS = f"{API}/bots"


def rows(app):
    with app.app_context(), reading():
        return list(session.scalars(select(BotToken).order_by(BotToken.id)))


def rotate(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/rotate")


def revoke(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/revoke")


def test_token_has_the_specified_form():
    made = {credentials.new_bot_token() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch("app_[a-z2-7]{32}", token) for token in made)


@pytest.mark.parametrize(
    "text", ["", "app_", "app_" + "a" * 31, "app_" + "a" * 33, "APP_" + "a" * 32, "app_" + "A" * 32,
             "app_" + "1" * 32, "app_" + "a" * 32 + "\n", "xapp_" + "a" * 32]
)  # fmt: skip
def test_malformed_token_has_no_prefix(text):
    assert credentials.lookup_prefix(text) is None


def test_rotate_issues_a_new_token_and_the_old_is_dead_at_once(app, admin):
    bot, old = new_bot(admin)
    answer = rotate(admin, bot)
    assert answer.status_code == 200
    assert list(answer.json) == ["bot", "plaintext_token"]
    new = answer.json["plaintext_token"]
    assert new != old
    shown = answer.json["bot"]["active_token"]
    assert shown["id"] != bot["active_token"]["id"]
    assert (shown["prefix"], shown["rotated_at"], shown["revoked_at"]) == (new[4:12], None, None)
    assert answer.json["bot"] == {**bot, "active_token": shown}
    assert error(me_by_key(app, old)) == (401, "auth.invalid_credentials")
    assert me_by_key(app, new).status_code == 200
    retired, active = rows(app)
    assert (retired.is_active, retired.revoked_at, active.is_active) == (False, None, True)
    assert retired.rotated_at >= retired.issued_at
    event = only(app, "bot.token.rotated")
    assert event.payload == {
        "old_token_id": bot["active_token"]["id"],
        "new_token_id": shown["id"],
        "token_prefix": new[4:12],
    }
    assert (event.target_kind, event.target_id) == ("bot", bot["id"])


def test_revoke_leaves_no_token_until_rotation(app, admin):
    bot, old = new_bot(admin)
    answer = revoke(admin, bot)
    assert (answer.status_code, answer.data) == (204, b"")
    assert error(me_by_key(app, old)) == (401, "auth.invalid_credentials")
    assert admin.get(f"{BOTS}/{bot['id']}").json == {**bot, "active_token": None}
    row = rows(app)[0]
    assert (row.is_active, row.rotated_at) == (False, None)
    assert row.revoked_at >= row.issued_at
    event = only(app, "bot.token.revoked")
    assert event.payload == {"token_id": row.id, "token_prefix": old[4:12]}
    again = revoke(admin, bot)
    assert error(again) == (409, "resource.conflict")
    assert details(again) == {"reason": "invariant_violation"}
    new = rotate(admin, bot).json["plaintext_token"]
    assert me_by_key(app, new).status_code == 200
    assert error(me_by_key(app, old)) == (401, "auth.invalid_credentials")
    assert only(app, "bot.token.rotated").payload["old_token_id"] is None
    assert only(app, "bot.token.revoked")


def test_inactive_bot_gets_a_token_that_works_once_it_is_active(app, admin):
    bot, _ = new_bot(admin)
    admin.delete(f"{BOTS}/{bot['id']}")
    answer = rotate(admin, bot)
    assert answer.status_code == 200
    token = answer.json["plaintext_token"]
    assert error(me_by_key(app, token)) == (401, "auth.invalid_credentials")
    admin.patch(f"{BOTS}/{bot['id']}", json={"is_active": True})
    assert me_by_key(app, token).status_code == 200


@pytest.mark.parametrize("verb", ["rotate", "revoke"])
def test_token_verbs_take_no_fields_and_no_idempotency_key(app, admin, verb):
    bot, _ = new_bot(admin)
    path = f"{BOTS}/{bot['id']}/tokens/{verb}"
    assert error(admin.post(path, json={"now": True})) == (422, "request.validation_error")
    headers = {"Idempotency-Key": "once"}
    first, second = (admin.post(path, headers=headers) for _ in range(2))
    if verb == "rotate":
        assert first.json["plaintext_token"] != second.json["plaintext_token"]
    else:
        assert (first.status_code, second.status_code) == (204, 409)


def test_rotations_at_once_leave_one_active_token(app, admin):
    bot, _ = new_bot(admin)
    cookie = cookie_of(admin)

    def one(_number):
        browser = app.test_client()
        browser.set_cookie("app_session", cookie)
        answer = rotate(browser, bot)
        assert answer.status_code == 200, answer.json
        return answer.json["plaintext_token"]

    made = at_once(8, one)
    assert len(set(made)) == 8
    assert [me_by_key(app, token).status_code for token in made].count(200) == 1
    assert sum(row.is_active for row in rows(app)) == 1
    olds = [event.payload["old_token_id"] for event in events(app, "bot.token.rotated")]
    assert len(set(olds)) == 8


@pytest.mark.parametrize("end", ["rotate", "revoke", "deactivate"])
def test_no_request_that_begins_after_the_answer_gets_in(app, admin, end):
    """Readers and writers send requests while the credential is revoked."""
    project = new_project(admin, "OPS")
    bot, token = new_bot(admin)
    over, stop = threading.Event(), threading.Event()
    late, early = [], []

    def hammer(number):
        client = app.test_client()
        while not stop.is_set():
            began_after = over.is_set()
            if number % 2:
                answer = client.get(f"{API}/auth/me", headers=key_of(token))
            else:
                answer = client.post(
                    f"{API}/projects/{project}/tickets", json={"title": "x"}, headers=key_of(token)
                )
            if answer.status_code in (200, 201):
                (late if began_after else early).append(answer.status_code)
            elif error(answer) != (401, "auth.invalid_credentials"):
                stop.set()
                pytest.fail(answer.text)

    def kill():
        try:
            while len(early) < 20 and not stop.wait(0.005):
                pass
            if end == "deactivate":
                answer = admin.delete(f"{BOTS}/{bot['id']}")
            else:
                answer = admin.post(f"{BOTS}/{bot['id']}/tokens/{end}")
            assert answer.status_code in (200, 204), answer.json
            over.set()
            stop.wait(0.2)
        finally:
            stop.set()

    at_once(7, lambda number: kill() if number == 6 else hammer(number))
    assert len(early) >= 20
    assert late == []


@pytest.mark.parametrize("end", ["rotate", "revoke", "deactivate", "narrow"])
def test_end_of_a_credential_waits_for_the_writes_it_allowed(app, admin, end):
    bot, token = new_bot(admin)
    path = f"{BOTS}/{bot['id']}"
    project = new_project(admin, "OPS")
    ask = {
        "rotate": lambda: admin.post(f"{path}/tokens/rotate"),
        "revoke": lambda: admin.post(f"{path}/tokens/revoke"),
        "deactivate": lambda: admin.delete(path),
        "narrow": lambda: admin.patch(path, json={"project_ids": [project]}),
    }[end]
    judged, go_on, order = threading.Event(), threading.Event(), []

    def write_slowly():
        with app.test_request_context(headers=key_of(token)), transaction():
            assert authentication.resolve(request).user_id == bot["id"]
            judged.set()
            assert not go_on.wait(0.3)
            order.append("written")

    def end_it():
        judged.wait()
        assert ask().status_code in (200, 204)
        order.append("ended")
        go_on.set()

    at_once(2, lambda number: (write_slowly, end_it)[number]())
    assert order == ["written", "ended"]
