"""The orders of ticket lists: every ticket once, in order, by an index, for any page size."""

import itertools

import pytest

from app.core.actor import Actor, ActorKind
from app.database import session as units
from app.database.compiled_statements import run
from app.database.session import reading, session
from app.tickets import listing
from tests.support.cases import cases
from tests.support.plans import plan_of
from tests.support.story import (
    invalid,
    make_label,
    make_ticket,
    malformed,
    ok,
    refused,
    state_ids,
    walk,
)
from tests.tickets.test_plans import many_like

SORTS = ("updated", "active", "rank", "due", "priority")


@pytest.fixture
def made(cast):
    """Tickets of two projects, with dates and priorities that are repeated or missing."""
    given = [
        ("low", "2026-12-01"),
        ("urgent", None),
        ("medium", "2026-11-30"),
        ("urgent", "2026-12-01"),
        ("high", None),
        ("medium", "2025-01-01"),
    ]
    tickets = [
        make_ticket(
            cast.ada,
            cast.fenced_project if number % 3 == 2 else cast.open_project,
            f"{number}",
            priority=priority,
            due_date=due_date,
        )
        for number, (priority, due_date) in enumerate(given)
    ]
    ok(cast.ada.patch(f"/tickets/{tickets[1]['id']}", {"title": "1, changed"}))
    ok(cast.ada.patch(f"/tickets/{tickets[3]['id']}", {"rank_before": None}))
    ok(cast.ada.post(f"/tickets/{tickets[0]['id']}/comments", {"body": "Well."}), 201)
    return tickets


def numbers(rows):
    return "".join(row["title"][0] for row in rows)


@cases(
    "sort, of_all, of_project",
    [
        ("created", "543210", "4310"),
        ("updated", "315420", "3140"),
        ("active", "031542", "0314"),
        ("due", "520314", "0314"),
        ("priority", "134250", "1340"),
    ],
)
def test_a_walk_in_each_order_meets_each_ticket_once(cast, made, sort, of_all, of_project):
    of_fenced = "".join(number for number in of_all if number in "25")
    path = f"/projects/{cast.open_project}/tickets?sort={sort}"
    for limit in (1, 2, 5, 50):
        assert numbers(walk(cast.ada, f"/tickets?sort={sort}", limit)) == of_all, limit
        assert numbers(walk(cast.ada, path, limit)) == of_project, limit
        assert numbers(walk(cast.fenced, f"/tickets?sort={sort}", limit)) == of_fenced, limit


def test_the_manual_order_is_that_of_next(cast, made):
    path = f"/projects/{cast.open_project}/tickets?sort=rank"
    for limit in (1, 3):
        assert numbers(walk(cast.ada, path, limit)) == "3140"
        ranks = [row["rank"] for row in walk(cast.ada, "/tickets?sort=rank", limit)]
        assert ranks == sorted(ranks)
        assert len(ranks) == 6


def test_an_order_goes_with_filters(cast, made):
    bug = make_label(cast.ada, cast.open_project, "bug")["id"]
    for number in (0, 3, 4):
        ok(cast.ada.patch(f"/tickets/{made[number]['id']}", {"add_label_ids": [bug]}))
    done = state_ids(cast.ada, cast.open_project)[-1]
    ok(cast.ada.post(f"/tickets/{made[4]['id']}/transition", {"state_id": done}))
    for filters, expected in {
        f"label_id={bug}": "034",
        f"label_id={bug}&state_category=open": "03",
        f"state_id={done}": "4",
        "priority=urgent": "31",
        "state_category=open&ready=true": "52031",
    }.items():
        found = walk(cast.ada, f"/tickets?sort=due&{filters}", 2)
        assert numbers(found) == expected, filters


def test_a_cursor_belongs_to_its_order(cast, made):
    first = {sort: ok(cast.ada.get(f"/tickets?limit=1&sort={sort}")) for sort in SORTS}
    for sort, page in first.items():
        cursor = page["page"]["next_cursor"]
        for other in {"created", *SORTS} - {sort}:
            response = cast.ada.get(f"/tickets?sort={other}&cursor={cursor}")
            refused(response, 400, "validation.invalid_field", field="cursor")
        path = f"/projects/{cast.open_project}/tickets?sort={sort}&cursor={cursor}"
        assert ok(cast.ada.get(path))["data"]


def test_an_unknown_order_is_refused_by_name(cast):
    malformed(cast.ada.get("/tickets?sort=title"), ["query", "sort"], "invalid_value")


def test_labels_are_added_and_removed_beside_the_others(cast):
    ids = [make_label(cast.ada, cast.open_project, name)["id"] for name in ("a", "b", "c")]
    ticket = make_ticket(cast.ada, cast.open_project, label_ids=ids[:2])
    path = f"/tickets/{ticket['id']}"
    changed = ok(cast.ada.patch(path, {"add_label_ids": ids[1:], "remove_label_ids": ids[:1]}))
    assert [label["name"] for label in changed["labels"]] == ["b", "c"]
    both = {"label_ids": ids, "add_label_ids": ids}
    invalid(cast.ada.patch(path, both), "label_ids", "conflict")
    foreign = make_label(cast.ada, cast.fenced_project, "a")["id"]
    for field in ("add_label_ids", "remove_label_ids"):
        invalid(cast.ada.patch(path, {field: [foreign]}), field, "not_found")


def test_too_many_labels_are_refused_however_they_are_added(cast, monkeypatch):
    monkeypatch.setattr("app.projects.labels.MAX_LABELS_PER_TICKET", 2)
    ids = [make_label(cast.ada, cast.open_project, name)["id"] for name in ("a", "b", "c")]
    ticket = make_ticket(cast.ada, cast.open_project, label_ids=ids[:2])
    response = cast.ada.patch(f"/tickets/{ticket['id']}", {"add_label_ids": ids[2:]})
    invalid(response, "add_label_ids", "too_many")


@pytest.fixture
def plans(app, monkeypatch):
    """Collect the plans of the queries that find the ids of a sorted page, as texts."""
    seen = []

    def watched(connection, ready, given):
        if "key_0" in ready.sql:
            seen.append("\n".join(plan_of(connection, ready, given)))
        return run(connection, ready, given)

    monkeypatch.setattr(units, "run", watched)
    with app.app_context():
        yield seen


def test_orders_of_many_tickets_go_along_their_indexes(cast, plans, monkeypatch):
    ticket = make_ticket(cast.ada, cast.open_project)
    states = state_ids(cast.ada, cast.open_project)
    many_like(ticket, states)
    monkeypatch.setattr(listing, "is_common", lambda *_: True)
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    many = (
        {},
        {"state_category": "open"},
        {"state_id": states[1]},
        {"priority": ["high", "medium"]},
    )
    for sort, filters in itertools.product(SORTS, many):
        plans.clear()
        with reading():
            for call in (listing.list_tickets, listing.list_project_tickets):
                place = () if call is listing.list_tickets else (cast.open_project,)
                page = call(ada, *place, limit=5, cursor=None, sort=sort, **filters)
                call(ada, *place, limit=5, cursor=page.next_cursor, sort=sort, **filters)
            is_sqlite = session.get_bind().dialect.name == "sqlite"
        assert len(plans) == 4, (sort, filters)
        for plan in plans:
            # A single state of a project uses the manual order of its column.
            expected = f"_{sort}" in plan or "ix_tickets_board_order" in plan
            assert expected, (sort, filters, plan)
            assert ("TEMP B-TREE" if is_sqlite else "Sort") not in plan, (sort, filters, plan)
