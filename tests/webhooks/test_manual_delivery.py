"""Retrying a delivery by hand."""

import threading

from app.webhooks import manual_delivery
from tests.support.receiver import SECRET
from tests.support.serving import until
from tests.support.story import events, make_ticket, ok, refused


def retry(cast, webhook, row):
    return cast.ada.post(f"/webhooks/{webhook['id']}/deliveries/{row['id']}/retry")


def test_a_failed_delivery_is_sent_once_more(app, cast, worker, receiver, subscribe, deliveries):
    receiver.answer = 404
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    (row,) = until(lambda: deliveries(webhook))
    receiver.answer = 200
    response = retry(cast, webhook, row)
    again = ok(response, 201)
    assert (again["status"], again["attempt"]) == ("succeeded", 2)
    assert again["id"] != row["id"]
    assert again["request_id"] == row["request_id"]
    first, second = receiver.received
    assert second.is_signed_with(SECRET)
    assert second.body["id"] == again["id"]
    assert {**second.body, "id": None} == {**first.body, "id": None}
    (event,) = events(app, event_type="webhook.delivery_retried")
    assert (event.actor_user_id, event.actor_kind) == (cast.ada.user_id, "human")
    refused(
        retry(cast, webhook, again), 409, "resource.conflict", reason="delivery_already_succeeded"
    )
    assert [one["status"] for one in deliveries(webhook)] == ["failed", "succeeded"]
    assert deliveries(webhook, status="failed") == [row]
    assert deliveries(webhook, attempt_min=2) == [again]
    assert deliveries(webhook, since=again["created_at"]) == [again]


def test_a_retry_by_hand_takes_the_place_of_the_scheduled_one(
    cast, worker, receiver, subscribe, deliveries
):
    receiver.answer = 500
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    (row,) = until(lambda: deliveries(webhook))
    again = ok(retry(cast, webhook, row), 201)
    assert (again["status"], again["attempt"], again["next_retry_at"]) == ("failed", 2, None)
    # The retry of the other event is due later than the replaced one was.
    subscribe("wiki.created")
    ok(cast.ada.post("/wiki/pages", {"title": "Page"}), 201)
    came = receiver.wait_for(4)
    assert [one.event for one in came] == ["ticket.created"] * 2 + ["wiki.created"] * 2
    for number in (3, 4, 4):
        again = ok(retry(cast, webhook, again), 201)
        assert again["attempt"] == number


def test_where_too_many_wait_the_scheduled_retry_stays(
    cast, worker, receiver, subscribe, deliveries, monkeypatch
):
    monkeypatch.setattr(manual_delivery, "_slots", threading.BoundedSemaphore(1))
    receiver.answer = 500
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    (row,) = until(lambda: deliveries(webhook))
    with manual_delivery._slots:
        refused(retry(cast, webhook, row), 503, "server.unavailable")
    receiver.answer = 200
    # No action is needed: it arrives as scheduled.
    until(lambda: deliveries(webhook, status="succeeded"))
    assert len(receiver.received) == 2


def test_retries_are_for_live_webhooks_and_humans(cast, worker, receiver, subscribe, deliveries):
    receiver.answer = 404
    webhook, other = subscribe("ticket.created"), subscribe("wiki.created")
    make_ticket(cast.ada, cast.open_project)
    (row,) = until(lambda: deliveries(webhook))
    path = f"/webhooks/{webhook['id']}/deliveries/{row['id']}/retry"
    refused(cast.smith.post(path), 403, "auth.forbidden", reason="humans_only")
    refused(retry(cast, other, row), 404, "resource.not_found", resource="delivery")
    ok(cast.ada.delete(f"/webhooks/{webhook['id']}"), 204)
    refused(retry(cast, webhook, row), 404, "resource.not_found", resource="webhook")
    assert deliveries(webhook) == [row]
