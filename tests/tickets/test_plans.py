"""Lists use an index in their own order: alone or in pairs, no filter scans a table."""

from itertools import combinations, product
from unittest import mock

import pytest
from sqlalchemy import event, insert, select, text
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor, ActorKind
from app.core.ids import new_id
from app.database import compiled_statements
from app.database import session as units
from app.database.session import db, reading, run_write, session
from app.projects.loaders import visible_by_key
from app.projects.states import ordered
from app.tickets import board, list_pages, listing
from app.tickets.list_orders import LAST_ID, SORTS, encode
from app.tickets.list_pages import Order, TicketList
from app.tickets.models import Ticket
from app.tickets.pages import list_requests
from tests.support.plans import COSTS, plan_of
from tests.support.story import make_ticket, state_ids

FILTERS = {
    "state_id": "01a1fc8d-a3f0-7000-9690-cc805ade5d19",
    "state_category": "active",
    "ticket_type": "subtask",
    "assignee_user_id": "01a1fc8d-a3f0-7000-9690-cc805ade5d19",
    "reporter_user_id": "01a1fc8d-a3f0-7000-9690-cc805ade5d19",
    "priority": "high",
    "parent_ticket_id": "01a1fc8d-a3f0-7000-9690-cc805ade5d19",
    "label_id": "01a1fc8d-a3f0-7000-9690-cc805ade5d19",
    "ready": True,
}
FROM_LABEL = "SEARCH tickets USING INDEX sqlite_autoindex_tickets_1 (id=?)"
# The columns of a new project; the two of category done show only recent tickets.
COLUMNS = 5


@pytest.fixture
def plans(app, monkeypatch):
    """Collect the plans of limited queries on tickets, as lines of text."""
    seen = []

    def run(connection, ready, given):
        if "FROM tickets" in ready.sql and "LIMIT" in ready.sql:
            seen.append(plan_of(connection, ready, given))
        return compiled_statements.run(connection, ready, given)

    with mock.patch.object(units, "run", run), app.app_context():
        yield seen


def check(plan):
    """Check that the plan uses an index on tickets in list order, without sorting."""
    text = "\n".join(plan)
    if any("QUERY PLAN" in line or "SEARCH" in line for line in plan):
        own = [line for line in plan if line.startswith(("SEARCH tickets ", "SCAN tickets"))]
        assert own, text
        if own == [FROM_LABEL] and "LIST SUBQUERY" in text:
            # A rare label: its few tickets are looked up and sorted.
            return
        assert all("INDEX ix_tickets_live_" in line for line in own), text
        assert "TEMP B-TREE" not in text, text
    else:
        assert "ix_tickets_live_" in text, text
        assert "Seq Scan on tickets" not in text, text
        assert "Sort" not in text, text


def test_a_list_goes_along_an_index(cast, plans):
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    for names in ((), *((name,) for name in FILTERS), *combinations(FILTERS, 2)):
        plans.clear()
        given = {name: FILTERS[name] for name in names}
        with reading():
            listing.list_tickets(ada, limit=50, cursor=None, **given)
            listing.list_project_tickets(ada, cast.open_project, limit=50, cursor=None, **given)
        for plan in plans:
            check(plan)
        assert len(plans) == 2, names


@pytest.mark.parametrize(
    "given", [{"state_category": "open"}, {"priority": ["low", "high"], "state_category": "open"}]
)
def test_a_list_of_any_of_several_goes_along_an_index(cast, plans, given):
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    with reading():
        listing.list_tickets(ada, limit=50, cursor=None, **given)
        listing.list_project_tickets(ada, cast.open_project, limit=50, cursor=None, **given)
    for plan in plans:
        check(plan)


def test_a_common_label_is_asked_on_the_way(cast, plans, monkeypatch):
    """Above a number of labeled tickets, tickets are read in order and checked for the label."""
    label = cast.ada.post(f"/projects/{cast.open_project}/labels", {"name": "often"}).json["id"]
    made = [make_ticket(cast.ada, cast.open_project, f"{number}") for number in range(3)]
    for ticket in made[1:]:
        cast.ada.patch(f"/tickets/{ticket['id']}", {"label_ids": [label]})
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    pages = []
    for is_common in (False, True):
        monkeypatch.setattr(listing, "is_common", lambda _name, _value, answer=is_common: answer)
        with reading():
            pages.append(
                listing.list_project_tickets(
                    ada, cast.open_project, limit=50, cursor=None, label_id=label
                ).data
            )
    assert pages[0] == pages[1]
    assert [row["title"] for row in pages[0]] == ["2", "1"]
    assert len(plans) == 2
    check(plans[1])


def test_epics_go_along_an_index_of_their_own(cast, plans):
    """Whatever other filters there are: a few in a hundred tickets are epics."""
    epics = [
        make_ticket(cast.ada, cast.open_project, f"{number}", type="epic") for number in range(3)
    ]
    story = make_ticket(cast.ada, cast.open_project)
    states = state_ids(cast.ada, cast.open_project)
    many_like(story, states)
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    # Values that many tickets have: for rare values, their own index would be better.
    values = FILTERS | {"state_id": states[0], "reporter_user_id": ada.id, "priority": "medium"}
    for other in (None, "state_id", "state_category", "reporter_user_id", "priority"):
        given = {other: values[other]} if other else {}
        plans.clear()
        with reading():
            found = listing.list_project_tickets(
                ada, cast.open_project, limit=50, cursor=None, ticket_type="epic", **given
            )
        if not given:
            assert [row["id"] for row in found.data] == [one["id"] for one in reversed(epics)]
        (plan,) = plans
        assert "ix_tickets_live_epics" in "\n".join(plan), (other, plan)


@pytest.mark.parametrize("other", [{"ticket_type": "epic"}, {"state_category": "done"}])
def test_what_is_never_ready_is_not_looked_at(cast, plans, other):
    many_like(make_ticket(cast.ada, cast.open_project), state_ids(cast.ada, cast.open_project))
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    with reading():
        found = listing.list_project_tickets(
            ada, cast.open_project, limit=50, cursor=None, ready=True, **other
        )
    assert found.data == []
    (plan,) = plans
    assert plan_of_nothing(plan), plan


def plan_of_nothing(plan):
    """For PostgreSQL. SQLite's plan names the tables, but its program ends before opening them."""
    return "One-Time Filter: false" in "\n".join(plan) or not any("Scan" in one for one in plan)


def test_a_category_is_asked_of_the_state_and_not_of_its_tickets(cast, plans):
    ticket = make_ticket(cast.ada, cast.open_project)
    states = state_ids(cast.ada, cast.open_project)
    many_like(ticket, states)
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    with reading():
        found = [
            listing.list_project_tickets(
                ada,
                cast.open_project,
                limit=5,
                cursor=None,
                state_id=state,
                state_category="backlog",
            ).data
            for state in (states[0], states[-1])
        ]
    assert [len(rows) for rows in found] == [5, 0]
    for plan in plans:
        check(plan)
        assert "Filter: ((workflow_states.category" not in "\n".join(plan), plan
        searches = [line for line in plan if line.startswith("SEARCH")]
        assert not searches or searches[0].startswith("SEARCH workflow_states"), plan


def many_like(ticket, states, count=1000, dates=(None,)):
    """Insert ``count`` similar tickets: with few rows, PostgreSQL uses any index."""

    def write():
        first = session.execute(select(Ticket.__table__).where(Ticket.id == ticket["id"])).one()
        rows = [
            {
                **first._mapping,
                "id": new_id(),
                "ticket_number": first.ticket_number + number,
                "display_id": f"MANY-{number}",
                "state_id": states[number % len(states)],
                "due_date": dates[number % len(dates)],
                "updated_at": first.updated_at - number * 1000,
            }
            for number in range(1, count)
        ]
        session.execute(insert(Ticket.__table__), rows)
        session.execute(text("ANALYZE tickets"))

    run_write(write)


def test_a_board_reads_the_first_cards_of_each_column_alone(cast, plans):
    made = make_ticket(cast.ada, cast.open_project)
    many_like(made, state_ids(cast.ada, cast.open_project))
    with reading():
        board.columns(board.Shape(cast.open_project), [], {})
    counts, plan = ("\n".join(plan) for plan in plans)
    for lines in (counts, plan):
        assert "Seq Scan on tickets" not in lines, lines
        assert "SCAN tickets" not in lines, lines
    # Either board index leads to the tickets of one column only.
    assert "ix_tickets_board" in counts, counts
    assert "ix_tickets_live" not in counts, counts
    assert plan.count("ix_tickets_board_order") == COLUMNS, plan


@pytest.fixture
def page_plans(app):
    """Collect the plans of the session's statements on tickets, as texts."""
    seen = []

    def note(connection, _cursor, statement, parameters, *_):
        if "FROM tickets" not in statement or "EXPLAIN" in statement:
            return
        is_sqlite = connection.dialect.name == "sqlite"
        for cost in () if is_sqlite else COSTS:
            connection.exec_driver_sql(f"SET LOCAL enable_{cost} = off")
        explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "
        lines = connection.exec_driver_sql(explain + statement, parameters).fetchall()
        seen.append("\n".join(str(line[-1]) for line in lines))

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", note)
        yield seen
        event.remove(db.engine, "before_cursor_execute", note)


def test_pages_of_many_tickets_go_along_the_indexes_of_their_orders(cast, page_plans):
    many_like(make_ticket(cast.ada, cast.open_project), state_ids(cast.ada, cast.open_project))
    sorts = ("updated", "active", "due", "priority", "-priority")
    for sort, project in product(sorts, (None, cast.open_project)):
        order = Order(SORTS[sort])
        with reading():
            ticket_list = TicketList(project, [], ordered(cast.open_project))
            page_plans.clear()
            first = list_pages.find(ticket_list, order, None, limit=5, cursor=None)
            list_pages.find(ticket_list, order, None, limit=5, cursor=first.after)
            is_sqlite = session.get_bind().dialect.name == "sqlite"
        assert len(page_plans) == 2, (sort, project)
        for plan in page_plans:
            assert f"_{sort.strip('-')}" in plan, (sort, project, plan)
            assert ("TEMP B-TREE" if is_sqlite else "Sort") not in plan, (sort, project, plan)


@pytest.mark.parametrize("is_cross_project", [False, True])
def test_the_latest_due_dates_and_tickets_without_one_go_along_the_index_backwards(
    cast, page_plans, is_cross_project
):
    dates = ["2030-01-01", None]
    many_like(
        make_ticket(cast.ada, cast.open_project),
        state_ids(cast.ada, cast.open_project),
        count=3000,
        dates=dates,
    )
    with reading():
        every = ordered(cast.open_project)
        ticket_list = TicketList(None if is_cross_project else cast.open_project, [], every)
        order = Order(SORTS["-due"])
        page_plans.clear()
        first = list_pages.find(ticket_list, order, None, limit=5, cursor=None)
        assert {row["due_date"] for row in first.rows} == {"2030-01-01"}
        middle = encode(order.kind, [1, "9999-99-99", LAST_ID])
        for cursor, backwards in ((first.after, False), (middle, False), (middle, True)):
            list_pages.find(ticket_list, order, None, limit=5, cursor=cursor, backwards=backwards)
        is_sqlite = session.get_bind().dialect.name == "sqlite"
    # Going backwards reads both ranges.
    assert len(page_plans) == 5
    for plan in page_plans:
        assert "_due" in plan, plan
        assert ("TEMP B-TREE" if is_sqlite else "Sort") not in plan, plan


@pytest.mark.parametrize("is_cross_project", [False, True])
def test_tickets_that_are_due_are_found_by_an_index(cast, page_plans, is_cross_project):
    """A range, because SQLite's plan for one day depends on statistics of earlier tests."""
    dates = [None, *(f"20{year}-0{month}-01" for year in range(90, 100) for month in range(1, 10))]
    done = state_ids(cast.ada, cast.open_project)[-1:]
    many_like(make_ticket(cast.ada, cast.open_project), done, dates=dates)
    with reading():
        ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
        project = None if is_cross_project else visible_by_key(ada, "OPEN")
        page_plans.clear()
        ticket_list = list_requests.list_of(
            list_requests.read_request(
                MultiDict({"due": "this_week"}), is_cross_project=is_cross_project
            ),
            project,
        )
        assert list_pages.tally(ticket_list).open == 0
    assert "_due" in page_plans[-1], page_plans
