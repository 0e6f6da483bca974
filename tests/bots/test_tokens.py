import re
import threading

import pytest
from sqlalchemy import select, update

from app.accounts import identity, tokens, traces
from app.accounts.models import BotToken
from app.core.clock import HOUR_MS, MINUTE_MS, now_ms
from app.core.db import reading, session, transaction
from tests.accounts.helpers import (
    API,
    at_once,
    cookie_of,
    details,
    error,
    event_types,
    events,
    key_of,
    me_by_key,
    new_bot,
    new_project,
    only,
    set_up,
    write,
)

BOTS = f"{API}/bots"


@pytest.fixture
def admin(app):
    return set_up(app)


def rows(app):
    with app.app_context(), reading():
        return list(session.scalars(select(BotToken).order_by(BotToken.id)))


def rotate(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/rotate")


def revoke(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/revoke")


def test_token_has_the_specified_form():
    made = {tokens.new_bot_token() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch("app_[a-z2-7]{32}", token) for token in made)


@pytest.mark.parametrize(
    "text", ["", "app_", "app_" + "a" * 31, "app_" + "a" * 33, "APP_" + "a" * 32, "app_" + "A" * 32,
             "app_" + "1" * 32, "app_" + "a" * 32 + "\n", "xapp_" + "a" * 32]
)  # fmt: skip
def test_malformed_token_has_no_prefix(text):
    assert tokens.lookup_prefix(text) is None


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
    """Readers and writers hammer while the credential dies (reliability.md, P15)."""
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
        with app.test_request_context(headers=key_of(token)):
            from flask import request

            with transaction():
                assert identity.resolve(request).user_id == bot["id"]
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


def test_two_tokens_with_one_prefix_are_told_apart(app, admin, monkeypatch):
    made = iter(["app_" + "a" * 8 + letter * 24 for letter in "bc"])
    monkeypatch.setattr(tokens, "new_bot_token", lambda: next(made))
    (first, one), (second, two) = new_bot(admin, "bot-1"), new_bot(admin, "bot-2")
    assert me_by_key(app, one).json["id"] == first["id"]
    assert me_by_key(app, two).json["id"] == second["id"]
    third = "app_" + "a" * 8 + "d" * 24
    assert error(me_by_key(app, third)) == (401, "auth.invalid_credentials")


@pytest.mark.parametrize("token", ["", "garbage", "app_" + "a" * 32, "app_" + "a" * 31 + "é"])
def test_refused_token_is_recorded_with_its_prefix_only_if_well_formed(app, admin, token):
    answer = me_by_key(app, token.encode().decode("latin-1"))
    assert error(answer) == (401, "auth.invalid_credentials")
    assert "details" not in answer.json["error"]
    event = only(app, "auth.bot.failure")
    prefix = "aaaaaaaa" if token == "app_" + "a" * 32 else None
    assert event.payload == {"operation": "auth.me", "token_prefix": prefix}
    assert (event.actor_kind, event.actor_user_id) == ("system", None)
    assert event.request_id == answer.headers["X-Request-Id"]


def test_every_refusal_is_recorded_and_a_known_bot_is_named(app, admin):
    bot, token = new_bot(admin)
    revoke(admin, bot)
    for _ in range(3):
        me_by_key(app, token)
    failures = events(app, "auth.bot.failure")
    assert len(failures) == 3
    for event in failures:
        assert (event.actor_kind, event.actor_user_id) == ("bot", bot["id"])
        assert event.payload["token_prefix"] == token[4:12]
        assert token[12:] not in str(event.payload)


def test_invalid_key_is_refused_on_public_routes_too(app, admin, client):
    headers = key_of("app_" + "a" * 32)
    assert error(client.get(f"{API}/setup/status", headers=headers)) == (
        401,
        "auth.invalid_credentials",
    )
    answer = client.post(
        f"{API}/auth/login", json={"username": "ada", "password": "x"}, headers=headers
    )
    assert error(answer) == (401, "auth.invalid_credentials")
    assert len(events(app, "auth.bot.failure")) == 2
    assert events(app, "auth.login.failure") == []


def test_first_use_is_recorded_and_then_one_an_hour(app, admin):
    bot, token = new_bot(admin)
    for _ in range(5):
        me_by_key(app, token)
    event = only(app, "auth.bot.success")
    assert event.payload == {"token_prefix": token[4:12]}
    assert (event.actor_kind, event.actor_user_id) == ("bot", bot["id"])
    assert event.category == "audit_only"
    write(app, update(BotToken).values(audited_at=now_ms() - HOUR_MS + 5_000))
    me_by_key(app, token)
    assert len(events(app, "auth.bot.success")) == 1
    write(app, update(BotToken).values(audited_at=now_ms() - HOUR_MS))
    me_by_key(app, token)
    me_by_key(app, token)
    assert len(events(app, "auth.bot.success")) == 2


def test_first_uses_at_once_are_one_record(app, admin):
    _, token = new_bot(admin)
    answers = at_once(8, lambda _number: me_by_key(app, token).status_code)
    assert answers == [200] * 8
    only(app, "auth.bot.success")


def test_new_token_has_its_own_first_use(app, admin):
    bot, token = new_bot(admin)
    me_by_key(app, token)
    me_by_key(app, rotate(admin, bot).json["plaintext_token"])
    assert len(events(app, "auth.bot.success")) == 2


def test_zero_minutes_record_every_request(app, admin):
    _, token = new_bot(admin)
    settings = app.config["SETTINGS"]
    object.__setattr__(settings, "bot_auth_audit_minutes", 0)
    try:
        answers = at_once(6, lambda _number: me_by_key(app, token).status_code)
    finally:
        object.__setattr__(settings, "bot_auth_audit_minutes", 60)
    assert answers == [200] * 6
    assert len(events(app, "auth.bot.success")) == 6


def test_last_use_is_at_most_a_minute_late(app, admin):
    bot, token = new_bot(admin)

    def last_used():
        return admin.get(f"{BOTS}/{bot['id']}").json["active_token"]["last_used_at"]

    assert last_used() is None
    assert me_by_key(app, token).json["active_token"]["last_used_at"] is None
    first = last_used()
    assert first is not None
    me_by_key(app, token)
    assert last_used() == first
    write(app, update(BotToken).values(last_used_at=now_ms() - MINUTE_MS))
    stale = last_used()
    me_by_key(app, token)
    assert last_used() > stale


def test_reads_with_a_token_in_use_write_nothing(app, admin, monkeypatch):
    _, token = new_bot(admin)
    me_by_key(app, token)
    monkeypatch.setattr(traces, "run_write", lambda *_: pytest.fail("wrote"))
    assert me_by_key(app, token).status_code == 200


def test_traces_that_cannot_be_written_leave_the_answer_alone(app, admin, monkeypatch):
    _, token = new_bot(admin)

    def failing(*_):
        raise RuntimeError

    monkeypatch.setattr(traces, "run_write", failing)
    assert me_by_key(app, token).status_code == 200


def test_mode_and_allowlist_count_from_the_next_request(app, admin):
    one, two = new_project(admin, "ONE"), new_project(admin, "TWO")
    bot, token = new_bot(admin, mode="read", project_ids=[one])
    client, path = app.test_client(), f"{API}/projects/{{}}/tickets"

    def create(project):
        return client.post(path.format(project), json={"title": "x"}, headers=key_of(token))

    assert error(create(one)) == (403, "auth.read_only_bot")
    attempt = only(app, "auth.bot.write_attempt_in_read_mode")
    assert attempt.payload == {"operation": "tickets.create"}
    assert attempt.actor_user_id == bot["id"]
    admin.patch(f"{BOTS}/{bot['id']}", json={"mode": "write"})
    assert create(one).status_code == 201
    outside = create(two)
    assert error(outside) == (403, "auth.forbidden")
    assert details(outside) == {"reason": "project_not_in_allowlist"}
    admin.patch(f"{BOTS}/{bot['id']}", json={"project_ids": [two]})
    assert create(two).status_code == 201
    assert error(create(one)) == (403, "auth.forbidden")
    assert len(events(app, "auth.bot.write_attempt_outside_allowlist")) == 2


def test_bot_can_do_nothing_without_a_token(app, admin, client):
    bot, _ = new_bot(admin)
    client.set_cookie("app_session", bot["active_token"]["prefix"])
    assert error(client.get(f"{API}/auth/me")) == (401, "auth.unauthenticated")
    assert identity.KEY_HEADER == "X-API-Key"
    assert "auth.bot.failure" not in event_types(app)
