"""Statements run directly on the driver give the same results as through SQLAlchemy."""

import pytest
from sqlalchemy import bindparam, select, text

from app.database.compiled_statements import PLANNED_LENGTH
from app.database.session import Prepared, is_postgresql, reading, session
from app.projects.models import WorkflowState

NAME = WorkflowState.name
IN = Prepared(select(NAME).where(NAME.in_(bindparam("names", expanding=True))))
NOT_IN = Prepared(select(NAME).where(NAME.not_in(bindparam("names", expanding=True))))
BY_ID = Prepared(
    select(NAME).where(WorkflowState.id.in_(bindparam("ids", expanding=True))), planned_once=True
)
IN_ONCE = Prepared(IN.statement, planned_once=True)
NOT_IN_ONCE = Prepared(NOT_IN.statement, planned_once=True)
IN_FIXED = Prepared(select(NAME).where(NAME.in_(["Backlog", "Done"])))
NOT_IN_FIXED = Prepared(select(NAME).where(NAME.not_in(["Backlog", "Done"])))


@pytest.fixture
def names(app, cast):
    """The names of all states; the test runs in a unit of work that reads."""
    with app.app_context(), reading():
        yield set(session.scalars(select(NAME)))


def found(statement, **values):
    return {row.name for row in statement.all(**values)}


@pytest.mark.parametrize("more", [0, 1, PLANNED_LENGTH - 1, PLANNED_LENGTH, 40])
@pytest.mark.parametrize(("among", "beyond"), [(IN, NOT_IN), (IN_ONCE, NOT_IN_ONCE)])
def test_a_list_of_any_length_has_what_it_names_and_no_more(names, more, among, beyond):
    wanted = sorted(names)[:1]
    others = [f"no such state {number}" for number in range(more)]
    assert found(among, names=others) == set()
    assert found(among, names=[*wanted, *others]) == set(wanted)
    assert found(beyond, names=others) == names
    assert found(beyond, names=[*wanted, *others]) == names - set(wanted)


def test_a_list_that_never_changes_has_what_it_names_and_no_more(names):
    assert found(IN_FIXED) == {"Backlog", "Done"}
    assert found(NOT_IN_FIXED) == names - {"Backlog", "Done"}


def test_a_short_list_is_planned_once(names):
    """On PostgreSQL, if an index is worth it; SQLite plans when it prepares a statement."""
    one = session.scalar(select(WorkflowState.id).limit(1))
    if is_postgresql():
        session.execute(text("SET enable_seqscan = off"))
    try:
        for _ in range(30):
            BY_ID.all(ids=[one])
    finally:
        if is_postgresql():
            session.execute(text("RESET enable_seqscan"))
    if is_postgresql():
        counts = text(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%workflow_states.id = ANY%'"
        )
        ((custom, generic),) = session.execute(counts).all()
        assert generic > custom
