import pytest
from sqlalchemy import update

from app.accounts import authentication, credentials
from app.accounts import authentication as traces
from app.accounts.models import BotToken
from app.core.clock import HOUR_MS, MINUTE_MS, now_ms
from tests.accounts.helpers import (
    API,
    at_once,
    details,
    error,
    event_types,
    events,
    key_of,
    me_by_key,
    new_bot,
    new_project,
    only,
    write,
)

BOTS = f"{API}/bots"


def rotate(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/rotate")


def revoke(admin, bot):
    return admin.post(f"{BOTS}/{bot['id']}/tokens/revoke")


def test_two_tokens_with_one_prefix_are_told_apart(app, admin, monkeypatch):
    made = iter(["app_" + "a" * 8 + letter * 24 for letter in "bc"])
    monkeypatch.setattr(credentials, "new_bot_token", lambda: next(made))
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


def test_a_refusal_is_recorded_and_a_known_bot_is_named(app, admin):
    bot, token = new_bot(admin)
    revoke(admin, bot)
    for _ in range(3):
        me_by_key(app, token)
    # Further failures of the same minute are recorded later, in one row.
    (event,) = events(app, "auth.bot.failure")
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
    assert len(events(app, "auth.bot.failure")) == 1
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


def test_zero_minutes_record_every_request(app, admin, setting):
    _, token = new_bot(admin)
    setting("bot_auth_audit_minutes", 0)
    answers = at_once(6, lambda _number: me_by_key(app, token).status_code)
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
    assert authentication.KEY_HEADER == "X-API-Key"
    assert "auth.bot.failure" not in event_types(app)
