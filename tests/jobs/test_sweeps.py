"""Expired rows are deleted in small batches, and no two sweeps run at once."""

import json
import threading
import time

import pytest
from sqlalchemy import func, select, text

from app.accounts.models import LoginBucket, UserSession
from app.audit.models import ToolInvocation
from app.core import ids
from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, now_ms
from app.database.idempotency import IdempotencyRecord
from app.database.session import reading, run_write, session
from app.jobs import sweeping
from app.jobs.sweeping import sweep
from app.webhooks.models import OutboxEntry
from tests.support.agent import Agent
from tests.support.story import events, make_ticket, ok


@pytest.fixture
def settings(app):
    with app.app_context():
        yield app.config["SETTINGS"]


def count(model):
    with reading():
        return session.scalar(select(func.count()).select_from(model))


def add(*rows):
    def work():
        session.add_all(rows)
        session.flush()

    run_write(work)


def record(expires_at, key):
    return IdempotencyRecord(
        id=ids.new_id(),
        actor_user_id=ids.new_id(),
        key_hash=key,
        fingerprint="f",
        created_at=0,
        expires_at=expires_at,
    )


def test_kept_answers_go_when_they_expire(app, settings, cast):
    add(record(now_ms() - 1, "old"), record(now_ms() + HOUR_MS, "new"))
    assert sweep("idempotency-records", settings, now=True).deleted == 1
    assert count(IdempotencyRecord) == 1
    (event,) = events(app, event_type="system.sweeper_ran")
    assert (event.actor_kind, event.actor_user_id) == ("system", None)
    assert event.payload["sweeper"] == "idempotency-records"
    assert event.payload["deleted"] == 1


def test_many_rows_go_in_batches(settings, cast, monkeypatch):
    monkeypatch.setattr(sweeping, "BATCH", 10)
    monkeypatch.setattr(sweeping, "BATCH", 10)
    add(*(record(1, f"{number}") for number in range(35)))
    assert sweep("idempotency-records", settings, now=True).deleted == 35
    assert count(IdempotencyRecord) == 0


def test_sessions_go_when_they_are_over(settings, cast):
    before = count(UserSession)
    owner = cast.ada.user_id

    def one(seen, expires):
        return UserSession(
            id=ids.new_id(),
            user_id=owner,
            token_hash=ids.new_id(),
            user_agent="x",
            created_at=0,
            last_seen_at=seen,
            expires_at=expires,
        )

    moment = now_ms()
    idle = settings.session_idle_minutes * MINUTE_MS
    add(
        one(moment, moment - 1), one(moment - idle - 1, moment + DAY_MS), one(moment, moment + 1000)
    )
    assert sweep("sessions", settings, now=True).deleted == 2
    assert count(UserSession) == before + 1
    assert ok(cast.ada.get("/auth/me"))["username"] == "ada"


def test_old_tool_calls_go_and_their_events_stay(app, settings, cast):
    Agent(cast.smith).call("get_self")
    (call,) = ok(cast.ada.get("/audit/tools"))["data"]
    old = now_ms() - settings.tool_invocation_log_retention_days * DAY_MS - 1
    run_write(
        lambda: session.execute(text("UPDATE tool_invocations SET created_at = :old"), {"old": old})
    )
    Agent(cast.smith).call("get_self")
    assert sweep("tool-invocations", settings, now=True).deleted == 1
    assert count(ToolInvocation) == 1
    first, second = events(app, event_type="bot.tool_invoked")
    assert first.tool_invocation_log_id is None
    assert second.tool_invocation_log_id not in (None, call["id"])


def test_spent_login_windows_and_finished_deliveries_go(settings, cast):
    moment = now_ms()
    add(
        LoginBucket(key_hash="a", hits=[], updated_at=moment - 16 * MINUTE_MS),
        LoginBucket(key_hash="b", hits=[], updated_at=moment),
    )
    assert sweep("login-windows", settings, now=True).deleted == 1

    def entry(state, finished_at):
        return OutboxEntry(
            id=ids.new_id(),
            webhook_id=ids.new_id(),
            audit_event_id=ids.new_id(),
            state=state,
            attempt=1,
            due_at=moment,
            is_manual=False,
            finished_at=finished_at,
        )

    add(entry("finished", moment - DAY_MS - 1), entry("finished", moment), entry("pending", None))
    assert sweep("outbox", settings, now=True).deleted == 1
    assert count(OutboxEntry) == 2


def test_a_sweep_that_just_ran_is_not_repeated_by_another_process(app, settings, cast):
    assert sweep("sessions", settings) is not None
    assert sweep("sessions", settings) is None
    assert sweep("sessions", settings, now=True) is not None
    assert len(events(app, event_type="system.sweeper_ran")) == 2


def test_a_clock_that_was_set_back_puts_no_sweep_off(settings, cast, monkeypatch):
    with monkeypatch.context() as ahead:
        ahead.setattr(sweeping, "database_ms", lambda: now_ms() + 12 * HOUR_MS)
        assert sweep("sessions", settings) is not None
        run_write(lambda: sweeping.take_lease("outbox", "dead", now=True))
    assert sweep("sessions", settings) is not None
    assert sweep("outbox", settings) is not None


def test_of_many_that_sweep_at_once_one_does(app, settings, cast):
    results = []

    def run():
        with app.app_context():
            results.append(sweep("outbox", settings))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in results if one is not None]) == 1
    assert len(events(app, event_type="system.sweeper_ran")) == 1


def test_the_command_sweeps_all_or_one(app, cast):
    runner = app.test_cli_runner()
    result = runner.invoke(args=["sweep"])
    assert result.exit_code == 0, result.output
    assert result.output.count("0 deleted") == len(sweeping.SWEEPERS)
    assert runner.invoke(args=["sweep", "outbox"]).output == "outbox: 0 deleted\n"
    assert runner.invoke(args=["sweep", "everything"]).exit_code == 2
    told = json.loads(runner.invoke(args=["sweep", "outbox", "--json"]).output)
    assert told == {"sweeper": "outbox", "ran": True, "deleted": 0}


def test_a_run_that_lost_its_lease_goes_no_further(settings, cast, monkeypatch):
    monkeypatch.setattr(sweeping, "BATCH", 10)
    monkeypatch.setattr(sweeping, "BATCH", 10)
    add(*(record(1, f"{number}") for number in range(35)))

    def lose(_seconds):
        run_write(lambda: session.execute(text("UPDATE sweeper_leases SET owner = 'another'")))

    monkeypatch.setattr(sweeping.time, "sleep", lose)
    assert sweep("idempotency-records", settings, now=True).deleted == 10
    assert count(IdempotencyRecord) == 25


def test_a_run_ends_after_its_batch_when_the_server_stops(app, settings, cast, monkeypatch):
    monkeypatch.setattr(sweeping, "BATCH", 10)
    monkeypatch.setattr(sweeping, "BATCH", 10)
    add(*(record(1, f"{number}") for number in range(35)))
    assert sweep("idempotency-records", settings, may_go_on=lambda: False).deleted == 10
    assert len(events(app, event_type="system.sweeper_ran")) == 1
    assert sweep("idempotency-records", settings, now=True).deleted == 25


def test_a_dead_run_is_taken_over_when_its_lease_is_over(settings, cast):
    add(record(1, "old"))
    run_write(lambda: sweeping.take_lease("idempotency-records", "dead", now=True))
    assert sweep("idempotency-records", settings, now=True) is None
    run_write(lambda: session.execute(text("UPDATE sweeper_leases SET lease_until = 1")))
    assert sweep("idempotency-records", settings, now=True).deleted == 1


def test_entries_of_webhooks_that_are_gone_do_not_stay(settings, cast):
    old = now_ms() - DAY_MS - 1
    hook = {"url": "https://example.org", "secret": "x" * 16, "event_types": ["wiki.created"]}
    known = ok(cast.ada.post("/webhooks", hook), 201)["id"]
    rest = {"audit_event_id": ids.new_id(), "state": "pending", "attempt": 1, "is_manual": False}
    add(
        OutboxEntry(id=ids.new_id(), webhook_id=known, due_at=old, **rest),
        OutboxEntry(id=ids.new_id(), webhook_id=ids.new_id(), due_at=old, **rest),
        OutboxEntry(id=ids.new_id(), webhook_id=ids.new_id(), due_at=now_ms(), **rest),
        OutboxEntry(id=ids.new_id(), webhook_id=known, due_at=old, finished_at=old, **rest),
    )
    assert sweep("outbox", settings, now=True).deleted == 2
    assert count(OutboxEntry) == 2


@pytest.mark.quiet
def test_writers_do_not_wait_for_a_long_sweep(app, settings, cast, monkeypatch):
    rows = [record(1, f"{number}") for number in range(5000)]
    add(*rows)
    over = threading.Event()

    def run():
        with app.app_context():
            sweep("idempotency-records", settings, now=True)
        over.set()

    sweeping_thread = threading.Thread(target=run)
    sweeping_thread.start()
    waits = []
    while not over.is_set():
        began = time.perf_counter()
        make_ticket(cast.ada, cast.open_project)
        waits.append(time.perf_counter() - began)
    sweeping_thread.join()
    assert count(IdempotencyRecord) == 0
    assert len(waits) >= 5
    assert sorted(waits)[len(waits) // 2] < 0.1


def test_nothing_that_lives_is_swept(settings, cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    for name in sweeping.SWEEPERS:
        sweep(name, settings, now=True)
    assert ok(cast.ada.get(f"/tickets/{ticket['id']}"))["id"] == ticket["id"]
