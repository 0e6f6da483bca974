"""Recorded credential failures: one row at once, and one for the rest of the minute."""

from contextlib import suppress

import pytest

from app.accounts import credentials, failure_windows
from app.core import lanes
from app.core.clock import MINUTE_MS, now_ms
from app.database.session import run_write
from tests.accounts.helpers import API, error, events


def fail(client, token=None, address="192.0.2.7"):
    answer = client.get(
        f"{API}/auth/me",
        headers={"X-API-Key": token or "garbage"},
        environ_base={"REMOTE_ADDR": address},
    )
    assert error(answer) == (401, "auth.invalid_credentials")


def written(app):
    return [event.payload for event in events(app) if event.event_type == "auth.bot.failure"]


def a_minute_later(app, monkeypatch):
    later = now_ms() + MINUTE_MS
    monkeypatch.setattr(failure_windows, "now_ms", lambda: later)
    with app.app_context():
        return run_write(failure_windows.record_finished)


def test_the_first_is_written_at_once_and_the_rest_of_its_minute_as_one(app, client, monkeypatch):
    for _ in range(20):
        fail(client)
    assert [payload.get("count") for payload in written(app)] == [None]
    assert a_minute_later(app, monkeypatch) == 1
    assert [payload.get("count") for payload in written(app)] == [None, 19]
    with app.app_context():
        assert run_write(failure_windows.record_finished) == 0
    fail(client)
    assert [payload.get("count") for payload in written(app)] == [None, 19, None]


@pytest.mark.parametrize("path", ["/api/v1/auth/me", "/api/v1/nowhere", "/board", "/nowhere"])
def test_it_is_written_wherever_it_happens_and_in_whichever_lane(app, client, path):
    headers = {"X-API-Key": "garbage"}
    for lane in (lanes.Lane.LOOP, lanes.Lane.POOL):
        # Like the server, which repeats the request in another lane if the first cannot write.
        with suppress(lanes.LaneRequired):
            assert lanes.run(lane, lambda: client.get(path, headers=headers)).status_code == 401
            break
    assert [payload["token_prefix"] for payload in written(app)] == [None]


def test_processes_share_a_window(app, client, monkeypatch):
    fail(client)
    for _ in range(3):
        # Like another process, which has counted nothing.
        del app.extensions[failure_windows.EXTENSION]
        fail(client)
    assert len(written(app)) == 1
    a_minute_later(app, monkeypatch)
    assert written(app)[1:] == [{"token_prefix": None, "count": 3}]


def test_a_window_that_nobody_told_of_is_told_of_by_the_next_failure(app, client, monkeypatch):
    fail(client)
    del app.extensions[failure_windows.EXTENSION]
    fail(client)
    later = now_ms() + MINUTE_MS
    monkeypatch.setattr(failure_windows, "now_ms", lambda: later)
    fail(client)
    assert [payload.get("count") for payload in written(app)] == [None, 1, None]


def test_addresses_and_prefixes_have_windows_of_their_own(app, client):
    token = credentials.new_bot_token()
    for _ in range(2):
        fail(client)
        fail(client, token)
        fail(client, address="192.0.2.8")
        # Two addresses of the same IPv6 network.
        fail(client, address="2001:db8::1")
        fail(client, address="2001:db8::2")
    assert len(written(app)) == 4
    assert {payload["token_prefix"] for payload in written(app)} == {
        None,
        credentials.lookup_prefix(token),
    }


def test_however_many_prefixes_are_tried_few_rows_are_written(app, client, monkeypatch):
    for _ in range(50):
        fail(client, credentials.new_bot_token())
    assert len(written(app)) == failure_windows.MAX_PREFIXES + 1
    a_minute_later(app, monkeypatch)
    assert written(app)[-1]["count"] == 50 - failure_windows.MAX_PREFIXES - 1


def test_however_many_addresses_try_the_table_is_bounded(app, client, monkeypatch):
    monkeypatch.setattr(failure_windows, "MAX_KEYS", 5)
    for number in range(20):
        fail(client, address=f"192.0.2.{number}")
    assert len(written(app)) == 6
    assert len(app.extensions[failure_windows.EXTENSION].seen) == 6


def test_a_good_key_is_never_locked_out(app, admin, client):
    token = admin.post(f"{API}/bots", json={"username": "bot-good-1", "mode": "read"}).json
    for _ in range(30):
        fail(client)
    answer = client.get(
        f"{API}/auth/me",
        headers={"X-API-Key": token["plaintext_token"]},
        environ_base={"REMOTE_ADDR": "192.0.2.7"},
    )
    assert answer.status_code == 200
