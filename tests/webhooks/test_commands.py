"""``flask webhooks``: list, deliver-due, retry."""

import json
import re

import pytest
from sqlalchemy import update

from app.commands.doctor import LATE_MS
from app.core.actor import Actor, ActorKind
from app.webhooks import manual_delivery
from app.webhooks.models import OutboxEntry
from tests.accounts.helpers import write
from tests.support.story import make_ticket, ok


@pytest.fixture
def run(trusting, cast):
    """Run a command; return its result."""

    def run(*args, group=("webhooks",)):
        return trusting.test_cli_runner().invoke(args=[*group, *args])

    return run


def test_what_is_due_is_delivered_without_a_server(run, cast, receiver, subscribe, deliveries):
    webhook = subscribe("ticket.created")
    for number in range(8):
        make_ticket(cast.ada, cast.open_project, f"{number}")
    assert "8 deliveries are due" in run("list").output
    result = run("deliver-due")
    assert result.exit_code == 0, result.output
    assert "8 attempts succeeded, 0 failed." in result.output
    # In order, as the server sends them.
    titles = [one.body["payload"]["title"] for one in receiver.received]
    assert titles == [str(number) for number in range(8)]
    assert {row["status"] for row in deliveries(webhook)} == {"succeeded"}
    assert json.loads(run("deliver-due", "--json").stdout) == {"succeeded": 0, "failed": 0}


def test_doctor_tells_a_backlog_from_a_server_that_does_not_deliver(
    run, trusting, cast, receiver, subscribe
):
    def found():
        write(trusting, update(OutboxEntry).values(due_at=OutboxEntry.due_at - LATE_MS - 1))
        output = run("doctor", group=()).output
        return re.search(r"^(\w+) +deliveries: (.+)\n +(.+)$", output, re.M).groups()

    subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    kind, counted, remedy = found()
    assert (kind, counted) == ("FAIL", "1 waiting, 1 late")
    assert remedy.startswith("No server is delivering.")
    run("deliver-due")
    make_ticket(cast.ada, cast.open_project)
    kind, counted, remedy = found()
    assert (kind, counted) == ("note", "1 waiting, 1 late")
    assert remedy.startswith("A server is delivering them.")


def test_what_fails_keeps_its_retry(run, cast, receiver, subscribe, deliveries):
    receiver.answer = 500
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    assert json.loads(run("deliver-due", "--json").stdout) == {"succeeded": 0, "failed": 1}
    (row,) = deliveries(webhook)
    assert row["status"] == "retrying"


def test_the_list_says_how_it_went(run, cast, receiver, subscribe):
    webhook = subscribe("ticket.*", "wiki.created")
    assert run("list").output.endswith("\n1 webhook; 0 deliveries are due.\n")
    off = subscribe("*", is_active=False)
    make_ticket(cast.ada, cast.open_project)
    run("deliver-due")
    first, second, last = run("list").output.splitlines()
    assert webhook["id"] in first
    assert "1 of 1 delivered" in first
    assert "ticket.*,wiki.created" in first
    assert "no attempts" in second
    assert "inactive" in second
    assert last == "2 webhooks; 0 deliveries are due."
    one, other = map(json.loads, run("list", "--json").output.splitlines())
    assert (one["id"], one["recent_attempts"], one["recent_successes"]) == (webhook["id"], 1, 1)
    assert (other["id"], other["recent_attempts"]) == (off["id"], 0)
    assert "secret" not in one


def test_retrying_by_id_and_all_that_failed(run, cast, receiver, subscribe, deliveries):
    webhook = subscribe("ticket.created")
    receiver.answer = lambda came: 404 if came.body["payload"]["title"] != "2" else 200
    for number in range(4):
        make_ticket(cast.ada, cast.open_project, f"{number}")
    run("deliver-due")
    rows = deliveries(webhook)
    assert [row["status"] for row in rows] == ["failed", "failed", "succeeded", "failed"]
    result = run("retry", rows[0]["id"], "--as", "ada")
    assert result.exit_code == 1
    assert "1 of 1 failed" in result.output
    receiver.answer = 200
    assert run("retry", rows[0]["id"], "--as", "ada").exit_code == 0
    result = run("retry", "--failed-of", webhook["id"], "--as", "bo", "--json")
    assert result.exit_code == 0
    made = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    # The first has arrived by now; the other two had not.
    assert [one["status"] for one in made] == ["succeeded", "succeeded"]
    titles = [one.body["payload"]["title"] for one in receiver.received[-2:]]
    assert titles == ["1", "3"]
    result = run("retry", "--failed-of", webhook["id"], "--as", "ada")
    assert result.exit_code == 0
    assert len(deliveries(webhook)) == 8


def test_what_arrived_is_not_sent_again(run, cast, receiver, subscribe, deliveries):
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project)
    run("deliver-due")
    (row,) = deliveries(webhook)
    result = run("retry", row["id"], "--as", "ada")
    assert result.exit_code == 0
    assert "already succeeded" in result.output
    assert len(receiver.received) == 1


def test_wrong_usage(run, cast):
    assert run("retry").exit_code == 2
    assert run("retry", "x", "--failed-of", "y").exit_code == 2
    for given in (("x",), ("--failed-of", "x")):
        result = run("retry", *given, "--as", "ada")
        assert result.exit_code == 1
        assert "Traceback" not in result.output
    assert "several people" in run("retry", "x").output
    for command in ("list", "deliver-due", "retry"):
        assert run(command, "--help").exit_code == 0


def test_tests_are_nothing_that_a_webhook_missed(run, cast, receiver, subscribe, app):
    receiver.answer = 500
    webhook = subscribe("wiki.created")
    actor = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    with app.app_context():
        row = manual_delivery.send_test(actor, webhook["id"])
    assert (row["event_type"], row["status"]) == ("webhook.test", "failed")
    assert run("retry", "--failed-of", webhook["id"], "--as", "ada").exit_code == 0
    assert len(receiver.received) == 1
    assert "webhook.test" not in {
        event["event_type"] for event in ok(cast.ada.get("/audit"))["data"]
    }
