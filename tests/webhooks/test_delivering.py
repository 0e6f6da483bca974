"""From a change to the receiver: what is sent, when it is retried, and what is logged."""

import time

import pytest

from app.audit.service import record_in_own_transaction
from app.core.clock import now_ms
from app.jobs.sweeping import sweep
from app.webhooks import outbox
from tests.support.receiver import SECRET
from tests.support.serving import until
from tests.support.story import events, make_ticket, ok, refused


@pytest.fixture
def quickly(monkeypatch):
    """The retry schedule, a hundred times as fast."""
    monkeypatch.setattr(outbox, "BACKOFF_MS", (10, 50, 300))


def test_a_change_is_told_at_once(app, cast, worker, receiver, subscribe, deliveries):
    webhook = subscribe("ticket.created")
    before = time.time()
    ticket = make_ticket(cast.ada, cast.open_project, "Mend the gate")
    (came,) = receiver.wait_for(1)
    assert came.at - before < 1
    (event,) = events(app, event_type="ticket.created")
    assert came.is_signed_with(SECRET)
    assert not came.is_signed_with("another sixteen bytes")
    assert abs(int(came.headers["X-Webhook-Timestamp"]) - came.at) < 3
    assert came.headers["Content-Type"] == "application/json; charset=utf-8"
    assert came.headers["X-Webhook-Id"] == webhook["id"]
    assert came.headers["X-Webhook-Event"] == "ticket.created"
    assert came.headers["User-Agent"].startswith("docket/")
    (row,) = until(lambda: deliveries(webhook))
    assert came.headers["X-Webhook-Delivery"] == row["id"]
    assert came.body == {
        "id": row["id"],
        "type": "ticket.created",
        "occurred_at": came.body["occurred_at"],
        "workspace_id": event.workspace_id,
        "actor": {"user_id": cast.ada.user_id, "kind": "human", "username": "ada"},
        "target": {"kind": "ticket", "id": ticket["id"], "display_id": "OPEN-1"},
        "payload": event.payload,
        "request_id": event.request_id,
    }
    assert (row["status"], row["http_status"], row["attempt"]) == ("succeeded", 200, 1)
    assert row["delivered_at"] is not None
    assert (row["next_retry_at"], row["error_message"]) == (None, None)
    assert row["request_id"] == event.request_id
    shown = ok(cast.ada.get(f"/webhooks/{webhook['id']}"))
    assert shown["last_success_at"] is not None
    assert shown["last_failure_at"] is None
    (succeeded,) = events(app, event_type="webhook.delivery_succeeded")
    assert (succeeded.actor_kind, succeeded.payload["delivery_id"]) == ("system", row["id"])


def test_who_is_told_of_what(cast, worker, receiver, subscribe, all_done):
    subscribe("wiki.*")
    subscribe("comment.created", "ticket.deleted")
    subscribe("*", is_active=False)
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Words"}), 201)
    ok(cast.ada.post("/wiki/pages", {"title": "Page"}), 201)
    ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)
    all_done()
    assert sorted(receiver.events()) == ["comment.created", "ticket.deleted", "wiki.created"]


def test_deliveries_tell_of_no_delivery_and_webhooks_of_no_own_creation(
    cast, worker, receiver, subscribe, all_done
):
    subscribe("*")
    make_ticket(cast.ada, cast.open_project)
    all_done()
    assert receiver.events() == ["ticket.created"]


def test_personal_notes_are_told_to_nobody(cast, worker, receiver, subscribe, all_done):
    subscribe("*")
    note = ok(cast.ada.post("/sticky-notes", {"body": "Mine"}), 201)
    path = f"/sticky-notes/{note['id']}"
    ok(cast.ada.patch(path, {"body": "Still mine"}))
    ok(cast.ada.post(f"{path}/convert-to-ticket", {"project_id": cast.open_project}), 201)
    ok(cast.ada.delete(path), 204)
    project = f"/projects/{cast.open_project}/sticky-notes"
    ok(cast.ada.post(project, {"body": "Ours"}), 201)
    all_done()
    assert receiver.events() == ["ticket.created", "sticky_note.created"]
    assert "Mine" not in str([one.body["payload"] for one in receiver.received[1:]])


def test_sweeps_faults_of_the_log_and_refusals_are_told(
    app, cast, worker, receiver, subscribe, monkeypatch
):
    subscribe("system.*", "audit.orphaned", "auth.*")
    refused(cast.scout.post("/projects", {"key": "NEW", "name": "x"}), 403, "auth.forbidden")
    path = f"/projects/{cast.open_project}/tickets"
    refused(cast.scout.post(path, {"title": "x"}), 403, "auth.read_only_bot")
    receiver.wait_for(1)
    with app.app_context():
        sweep("outbox", app.config["SETTINGS"], now=True)
        record_in_own_transaction("auth.logout", lambda: 1 / 0)
    came = receiver.wait_for(3)
    assert [one.event for one in came] == [
        "auth.bot.write_attempt_in_read_mode",
        "system.sweeper_ran",
        "audit.orphaned",
    ]
    assert came[0].body["actor"]["kind"] == "bot"
    assert came[1].body["actor"] == {"user_id": None, "kind": "system", "username": None}
    assert came[2].body["payload"]["event_type"] == "auth.logout"


def test_what_fails_to_commit_is_told_to_nobody(cast, worker, receiver, subscribe, all_done):
    subscribe("*")
    refused(
        cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": " "}),
        422,
        "validation.invalid_field",
    )
    all_done()
    assert receiver.events() == []


def test_events_arrive_in_their_order(cast, worker, receiver, subscribe):
    subscribe("ticket.created")
    for number in range(12):
        make_ticket(cast.ada, cast.open_project, f"{number}")
    came = receiver.wait_for(12)
    assert [one.body["payload"]["title"] for one in came] == [str(number) for number in range(12)]


@pytest.mark.parametrize("status", [503, 429])
def test_what_may_pass_is_tried_four_times(
    app, cast, quickly, worker, receiver, subscribe, deliveries, all_done, status
):
    receiver.answer = status
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    all_done()
    came, rows = receiver.received, deliveries(webhook)
    assert len(came) == 4
    assert [row["attempt"] for row in rows] == [1, 2, 3, 4]
    assert [row["status"] for row in rows] == ["retrying", "retrying", "retrying", "failed"]
    assert [row["next_retry_at"] is None for row in rows] == [False, False, False, True]
    assert {row["http_status"] for row in rows} == {status}
    assert len({one.body["id"] for one in came}) == 4
    assert len({one.body["request_id"] for one in came}) == 1
    assert all(one.is_signed_with(SECRET) for one in came)
    failures = events(app, event_type="webhook.delivery_failed")
    assert [event.payload["will_retry"] for event in failures] == [True, True, True, False]
    assert failures[0].payload["http_status"] == status
    shown = ok(cast.ada.get(f"/webhooks/{webhook['id']}"))
    assert shown["is_active"] is True
    assert shown["last_failure_at"] is not None


def test_the_schedule_is_1_5_and_30_seconds(
    cast, worker, receiver, subscribe, deliveries, monkeypatch
):
    assert outbox.BACKOFF_MS == (1_000, 5_000, 30_000)
    receiver.answer = 500
    webhook = subscribe("ticket.created")
    before = now_ms()
    make_ticket(cast.ada, cast.open_project)
    first, second = receiver.wait_for(2)
    assert 0.9 < second.at - first.at < 2.5
    rows = until(lambda: len(found := deliveries(webhook)) == 2 and found)
    assert rows[1]["status"] == "retrying"
    assert now_ms() - before < 10_000


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, "HTTP 400"), (404, "HTTP 404"), (410, "HTTP 410"), (302, "redirects")],
)
def test_what_will_not_pass_is_tried_once(
    app, cast, quickly, worker, receiver, subscribe, deliveries, all_done, status, error
):
    receiver.answer = status
    receiver.headers = {"Location": receiver.url} if status == 302 else {}
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    all_done()
    (row,) = deliveries(webhook)
    assert len(receiver.received) == 1
    assert (row["status"], row["http_status"], row["next_retry_at"]) == ("failed", status, None)
    assert error in row["error_message"]
    (event,) = events(app, event_type="webhook.delivery_failed")
    assert event.payload["will_retry"] is False


def test_a_receiver_that_comes_back_gets_its_event(
    cast, quickly, worker, receiver, subscribe, deliveries
):
    answers = iter([500, 502, 200])
    receiver.answer = lambda _: next(answers)
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    receiver.wait_for(3)
    rows = until(lambda: len(found := deliveries(webhook)) == 3 and found)
    assert [row["status"] for row in rows] == ["retrying", "retrying", "succeeded"]


def test_a_later_event_does_not_wait_for_a_retry(cast, worker, receiver, subscribe):
    receiver.answer = lambda came: 500 if came.body["payload"]["title"] == "one" else 200
    subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project, "one")
    make_ticket(cast.ada, cast.open_project, "two")
    came = receiver.wait_for(3)
    assert [one.body["payload"]["title"] for one in came] == ["one", "two", "one"]


def test_a_blocked_address_is_terminal(
    app, cast, worker, receiver, subscribe, deliveries, monkeypatch
):
    webhook = subscribe("ticket.created", url="https://10.0.0.1/hook")
    make_ticket(cast.ada, cast.open_project)
    (row,) = until(lambda: deliveries(webhook))
    assert (row["status"], row["http_status"]) == ("failed", None)
    assert row["error_message"] == "address not allowed"
    assert row["next_retry_at"] is None


def test_a_network_error_is_retried(cast, quickly, worker, subscribe, deliveries):
    webhook = subscribe("ticket.created", url="https://localhost:1/hook")
    make_ticket(cast.ada, cast.open_project)
    rows = until(lambda: len(found := deliveries(webhook)) == 4 and found)
    assert {row["http_status"] for row in rows} == {None}
    assert rows[0]["error_message"] == "connection refused"


def test_a_certificate_of_nobody_is_refused(cast, app, receiver, quickly, subscribe, deliveries):
    from dataclasses import replace

    from app.webhooks.worker import Worker

    before = app.config["SETTINGS"]
    app.config["SETTINGS"] = replace(before, webhook_allowed_networks="127.0.0.0/8, ::1")
    worker = Worker(app)
    app.config["SETTINGS"] = before
    worker.start()
    try:
        webhook = subscribe("ticket.created")
        make_ticket(cast.ada, cast.open_project)
        rows = until(lambda: deliveries(webhook))
        assert rows[0]["error_message"].startswith("TLS")
        assert receiver.received == []
    finally:
        worker.stop()


def test_a_webhook_switched_off_or_deleted_gets_nothing_more(
    cast, worker, receiver, subscribe, deliveries
):
    receiver.answer = 500
    webhook, other = subscribe("ticket.created"), subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    for each in (webhook, other):
        (row,) = until(lambda hook=each: deliveries(hook))
        assert row["status"] == "retrying"
    ok(cast.ada.patch(f"/webhooks/{webhook['id']}", {"is_active": False}))
    ok(cast.ada.delete(f"/webhooks/{other['id']}"), 204)
    (row,) = deliveries(webhook)
    assert (row["status"], row["next_retry_at"]) == ("failed", None)
    assert row["error_message"] == "webhook was disabled"
    # The third webhook's retry is due later than those of the first two would have been.
    third = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    receiver.wait_for(4)
    told = [one.headers["X-Webhook-Id"] for one in receiver.received]
    assert sorted(told[:2]) == sorted([webhook["id"], other["id"]])
    assert told[2:] == [third["id"]] * 2
    (row,) = deliveries(other)
    assert (row["status"], row["error_message"]) == ("failed", "webhook was deleted")


def test_a_rotated_secret_signs_what_comes_after(cast, worker, receiver, subscribe):
    webhook = subscribe("ticket.created")
    path = f"/webhooks/{webhook['id']}?rotate_secret=true"
    ok(cast.ada.patch(path, {"secret": "another sixteen bytes"}))
    make_ticket(cast.ada, cast.open_project)
    (came,) = receiver.wait_for(1)
    assert came.is_signed_with("another sixteen bytes")
