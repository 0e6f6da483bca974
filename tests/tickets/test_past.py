"""``GET /tickets/{id}?at=``: a past ticket, from the log, and what the log does not contain."""

import random
import time

import pytest
from sqlalchemy import update

from app.audit.service import record
from app.core.actor import Actor, ActorKind
from app.core.clock import iso, now_ms
from app.database.session import session
from app.projects.models import Project
from app.tickets.models import Ticket
from app.tickets.service import restore_ticket
from tests.support.cast import in_app
from tests.support.story import events, make_ticket, ok, refused

# Fields that describe the reading itself or have the present value.
READING = ("at", "not_recorded")


@pytest.fixture
def project(cast):
    return f"/projects/{cast.open_project}"


def moment():
    """Return the current time, with an idle moment before and after it."""
    time.sleep(0.003)
    found = now_ms()
    time.sleep(0.003)
    return found


def at(caller, ticket, then, **more):
    query = "".join(f"&{name}={value}" for name, value in more.items())
    return caller.get(f"/tickets/{ticket}?at={iso(then)}{query}")


def past(caller, ticket, then, **more):
    return ok(at(caller, ticket, then, **more))


def test_every_field_is_what_it_was_at_each_time(app, cast, project):
    """Make many random changes; compare the past at each time with what was read then."""
    chance = random.Random(31)
    labels = [
        ok(cast.ada.post(f"{project}/labels", {"name": f"label {number}"}), 201)["id"]
        for number in range(3)
    ]
    states = [one["id"] for one in ok(cast.ada.get(f"{project}/workflow-states"))["data"]]
    epics = [
        make_ticket(cast.ada, cast.open_project, f"Epic {n}", type="epic")["id"] for n in (1, 2)
    ]
    other = make_ticket(cast.ada, cast.open_project, "Other")["id"]
    ticket = make_ticket(
        cast.smith, cast.open_project, "A ticket", body="First", label_ids=labels[:1]
    )["id"]
    read = []
    for number in range(22):
        patch = {
            "title": f"Title {number}",
            "body": f"Body {number}\n",
            "priority": chance.choice(["low", "high"]),
            "due_date": chance.choice([None, "2031-01-02"]),
            "assignee_user_id": chance.choice([None, cast.ada.user_id, cast.smith.user_id]),
            "parent_ticket_id": chance.choice([None, *epics]),
            "label_ids": chance.sample(labels, chance.randrange(3)),
            "reporter_user_id": chance.choice([cast.ada.user_id, cast.bo.user_id]),
        }
        chosen = chance.sample(sorted(patch), 2)
        ok(cast.ada.patch(f"/tickets/{ticket}", {name: patch[name] for name in chosen}))
        if number % 5 == 0:
            ok(cast.ada.post(f"/tickets/{ticket}/transition", {"state_id": chance.choice(states)}))
        if number % 7 == 0:
            ok(cast.ada.patch(f"/tickets/{ticket}", {"rank_after": other}))
        then = moment()
        read.append((then, ok(cast.ada.get(f"/tickets/{ticket}"))))
    for then, shown in read:
        found = past(cast.ada, ticket, then)
        assert found["not_recorded"] == []
        assert found["at"] == iso(then)
        changing = ("updated_at", "last_activity_at")
        kept = {name: found[name] for name in shown if name not in changing}
        # The parent has its present values, as states and labels do.
        assert kept == {name: shown[name] for name in kept}
        assert found["updated_at"] <= iso(then)


def test_a_label_that_was_deleted_since_is_there_again(cast, project):
    label = ok(cast.ada.post(f"{project}/labels", {"name": "gone", "color": "#112233"}), 201)["id"]
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket", label_ids=[label])["id"]
    then = moment()
    assert cast.ada.delete(f"{project}/labels/{label}").status_code == 204
    assert ok(cast.ada.get(f"/tickets/{ticket}"))["labels"] == []
    assert past(cast.ada, ticket, then)["labels"] == [
        {"id": label, "name": "gone", "color": "#112233"}
    ]


def test_a_state_that_was_deleted_since_has_its_name(cast, project):
    state = ok(
        cast.ada.post(f"{project}/workflow-states", {"name": "Odd", "category": "active"}), 201
    )["id"]
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket", state_id=state)["id"]
    then = moment()
    first = ok(cast.ada.get(f"{project}/workflow-states"))["data"][0]["id"]
    ok(cast.ada.post(f"/tickets/{ticket}/transition", {"state_id": first}))
    assert cast.ada.delete(f"{project}/workflow-states/{state}").status_code == 204
    found = past(cast.ada, ticket, then)
    assert found["state"] == {"id": state, "name": "Odd", "category": "active"}


def test_a_state_that_was_deleted_while_the_ticket_was_is_that_of_the_log(app, cast, project):
    states = ok(cast.ada.get(f"{project}/workflow-states"))["data"]
    path = f"{project}/workflow-states"
    state = ok(cast.ada.post(path, {"name": "On hold", "category": "active"}), 201)["id"]
    ticket = make_ticket(cast.ada, cast.open_project, state_id=state)["id"]
    live = moment()
    ok(cast.ada.delete(f"/tickets/{ticket}"), 204)
    deleted = moment()
    ok(cast.ada.delete(f"{path}/{state}"), 204)
    without = moment()

    def was(then):
        found = past(cast.ada, ticket, then, include_deleted="true")
        return found["state_id"], (found["state"] or {}).get("name"), found["not_recorded"]

    before = [(live, state, "On hold"), (deleted, state, "On hold"), (without, None, None)]
    for then, identifier, name in before:
        assert was(then) == (identifier, name, [])
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    in_app(app, lambda: restore_ticket(ada, ticket))
    for then, identifier, name in [*before, (moment(), states[0]["id"], states[0]["name"])]:
        assert was(then) == (identifier, name, [])


def without_labels(actor, event_type, target, /, **payload):
    """Record the event of a new ticket as older releases did."""
    payload.pop("label_ids", None)
    return record(actor, event_type, target, **payload)


def test_a_label_of_very_many_tickets_is_known_by_the_events_before(cast, project, monkeypatch):
    monkeypatch.setattr("app.projects.labels.MAX_NAMED_TICKETS", 1)
    gone, other, late = (
        ok(cast.ada.post(f"{project}/labels", {"name": name}), 201)["id"]
        for name in ("gone", "other", "late")
    )
    tickets = [
        make_ticket(cast.ada, cast.open_project, title, label_ids=[gone, other])["id"]
        for title in ("First", "Second")
    ]
    new = moment()
    ok(cast.ada.patch(f"/tickets/{tickets[0]}", {"label_ids": [gone, late]}))
    changed = moment()
    # The event names no tickets, because there are too many.
    assert cast.ada.delete(f"{project}/labels/{gone}").status_code == 204
    after = moment()
    assert cast.ada.delete(f"{project}/labels/{other}").status_code == 204

    def shown(ticket, then):
        found = past(cast.ada, ticket, then)
        assert found["not_recorded"] == []
        return [label["name"] for label in found["labels"]]

    assert shown(tickets[0], new) == shown(tickets[1], changed) == ["gone", "other"]
    assert shown(tickets[0], changed) == ["gone", "late"]
    assert shown(tickets[0], after) == ["late"]
    assert shown(tickets[1], after) == ["other"]


def test_what_the_log_does_not_hold_says_so(app, cast, project, monkeypatch):
    monkeypatch.setattr("app.projects.labels.MAX_NAMED_TICKETS", 1)
    monkeypatch.setattr("app.tickets.creating.record", without_labels)
    label = ok(cast.ada.post(f"{project}/labels", {"name": "common"}), 201)["id"]
    first, second = (
        make_ticket(cast.ada, cast.open_project, title, label_ids=[label])["id"]
        for title in ("First", "Second")
    )
    then = moment()
    ok(cast.ada.patch(f"/tickets/{second}", {"label_ids": []}))
    ok(cast.ada.patch(f"/tickets/{second}", {"label_ids": [label]}))
    assert cast.ada.delete(f"{project}/labels/{label}").status_code == 204
    # The event names no tickets, because there are too many.
    found = past(cast.ada, first, then)
    assert (found["labels"], found["not_recorded"]) == ([], ["labels"])
    # A change of the ticket itself gives the label.
    found = past(cast.ada, second, then)
    assert ([one["id"] for one in found["labels"]], found["not_recorded"]) == ([label], [])
    spread = update(Project).values(ranks_spread_at=now_ms())
    in_app(app, lambda: session.execute(spread))
    assert "rank" in past(cast.ada, first, then)["not_recorded"]


def test_before_it_was_created_there_is_none(app, cast):
    then = moment()
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket")["id"]
    refused(at(cast.ada, ticket, then), 404, "resource.not_found")
    # An imported ticket can be older than the log.
    older = update(Ticket).where(Ticket.id == ticket).values(created_at=then - 1000)
    in_app(app, lambda: session.execute(older))
    answer = at(cast.ada, ticket, then)
    refused(answer, 422, "validation.invalid_field")
    assert answer.json["error"]["details"]["reason"] == "not_recorded"


def test_deleted_then_and_deleted_now(cast):
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket")["id"]
    live = moment()
    assert cast.ada.delete(f"/tickets/{ticket}").status_code == 204
    gone = moment()
    refused(at(cast.ada, ticket, live), 410, "resource.gone")
    assert past(cast.ada, ticket, live, include_deleted="true")["deleted_at"] is None
    deleted_at = past(cast.ada, ticket, gone, include_deleted="true")["deleted_at"]
    assert iso(live) < deleted_at < iso(gone)


def test_restored_since_but_deleted_then(app, cast):
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket")["id"]
    assert cast.ada.delete(f"/tickets/{ticket}").status_code == 204
    gone = moment()
    ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id)
    in_app(app, lambda: restore_ticket(ada, ticket))
    refused(at(cast.ada, ticket, gone), 410, "resource.gone")
    found = past(cast.ada, ticket, gone, include_deleted="true")
    assert found["deleted_at"] == iso(events(app, event_type="ticket.deleted")[0].created_at)


def test_it_has_no_etag_and_who_may_not_read_the_ticket_may_not_read_its_past(cast):
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket")["id"]
    then = moment()
    answer = at(cast.scout, ticket, then)
    assert answer.status_code == 200
    assert "ETag" not in answer.headers
    refused(at(cast.fenced, ticket, then), 404, "resource.not_found")
    refused(cast.ada.get(f"/tickets/{ticket}?at=yesterday"), 422, "request.validation_error")
    # A future time gives the present.
    assert past(cast.ada, ticket, then + 10**12)["title"] == "A ticket"
    for odd, status in (("9999-12-31T23:59:59-23:59", 200), ("0001-01-01T00:00:00%2B23:59", 404)):
        assert cast.ada.get(f"/tickets/{ticket}?at={odd}").status_code == status


def test_the_present_has_neither_field(cast):
    ticket = make_ticket(cast.ada, cast.open_project, "A ticket")["id"]
    assert not set(READING) & ok(cast.ada.get(f"/tickets/{ticket}")).keys()
