"""Units of work: what is committed, what is not, and what is retried."""

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm.exc import StaleDataError

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import SYSTEM
from app.core.clock import now_ms
from app.core.errors import Unavailable
from app.database.session import (
    ATTEMPTS,
    after_commit,
    between_snapshots,
    db,
    is_postgresql,
    reading,
    run_write,
    savepoint,
    session,
    transaction,
)


def new_user():
    moment = now_ms()
    identifier = ids.new_id()
    return User(
        id=identifier,
        type="human",
        username=f"u{identifier}",
        display_name="U",
        is_active=True,
        created_at=moment,
        updated_at=moment,
    )


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


def count():
    with reading():
        return session.scalar(select(func.count()).select_from(User))


def test_a_transaction_commits_at_its_end():
    with transaction():
        session.add(new_user())
    assert count() == 1


def test_an_exception_undoes_all_of_it():
    def work():
        session.add(new_user())
        session.flush()
        raise KeyError("stop")

    with pytest.raises(KeyError):
        run_write(work)
    assert count() == 0


def test_what_goes_past_the_session_shares_its_transaction():
    def work(*, fails):
        session.add(new_user())
        session.flush()
        record(SYSTEM, "audit.orphaned", Target("audit_event"), event_type="x", reason="y")
        if fails:
            raise KeyError("stop")

    before = count()
    with pytest.raises(KeyError):
        run_write(lambda: work(fails=True))
    assert (count(), events()) == (before, 0)
    run_write(lambda: work(fails=False))
    assert (count(), events()) == (before + 1, 1)


def events():
    with reading():
        return session.scalar(select(func.count()).select_from(AuditEvent))


def test_without_need_there_is_no_session():
    db.session.remove()
    run_write(lambda: record(SYSTEM, "audit.orphaned", Target("x"), event_type="x", reason="y"))
    assert not db.session.registry.has()
    assert events() == 1


def test_what_is_to_follow_a_commit_follows_it_once():
    seen = []

    def look():
        seen.append(count())

    def work(*, fails):
        session.add(new_user())
        after_commit(look)
        after_commit(look)
        if fails:
            raise KeyError("stop")

    with pytest.raises(KeyError):
        run_write(lambda: work(fails=True))
    assert seen == []
    run_write(lambda: work(fails=False))
    assert seen == [1]
    with pytest.raises(RuntimeError, match="nothing is being written"):
        after_commit(look)


def test_units_of_work_do_not_nest():
    with transaction():
        session.scalar(select(1))
        with pytest.raises(RuntimeError, match="open already"), transaction():
            pass


def test_a_reading_unit_of_work_sees_what_was_written_between_its_snapshots():
    with reading():
        before = session.scalar(select(func.count()).select_from(User))
        with between_snapshots():
            run_write(lambda: session.add(new_user()))
        assert session.scalar(select(func.count()).select_from(User)) == before + 1
        with pytest.raises(RuntimeError):
            run_write(lambda: None)
    with pytest.raises(RuntimeError), between_snapshots():
        pass


def test_a_read_never_turns_into_a_write():
    with reading():
        session.add(new_user())
        with pytest.raises(RuntimeError, match="tried to write"):
            session.flush()
    assert count() == 0


class Collision(Exception):
    """The error that psycopg raises in one of two deadlocked transactions."""

    sqlstate = "40P01"


@pytest.mark.parametrize(
    "error", [OperationalError("UPDATE", {}, Collision()), StaleDataError("changed meanwhile")]
)
def test_a_collision_runs_the_whole_work_again(error):
    runs = []

    def work():
        session.add(new_user())
        session.flush()
        runs.append(1)
        if len(runs) < ATTEMPTS:
            raise error
        return "done"

    assert run_write(work) == "done"
    assert len(runs) == ATTEMPTS
    assert count() == 1


def test_after_four_collisions_the_client_may_try_again(logged):
    runs = []

    def work():
        runs.append(1)
        raise StaleDataError("again and again")

    with pytest.raises(Unavailable):
        run_write(work)
    assert len(runs) == ATTEMPTS
    assert logged() == ["again and again"]


def test_other_errors_are_not_tried_again():
    runs = []

    def work():
        runs.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_write(work)
    assert len(runs) == 1


@pytest.fixture
def waiting():
    """Yield the query for whether commits wait for the disk, and its values for yes and no."""
    if db.engine.dialect.name == "sqlite":
        yield "PRAGMA synchronous", 2, 1
        return
    # Otherwise the tests' server never waits.
    mine = f'ALTER DATABASE "{db.engine.url.database}"'
    with transaction():
        session.execute(text(f"{mine} SET synchronous_commit = on"))
    db.engine.dispose()
    yield "SHOW synchronous_commit", "on", "off"
    with transaction():
        session.execute(text(f"{mine} RESET synchronous_commit"))
    db.engine.dispose()


def test_only_an_async_commit_does_not_wait_for_the_disk(waiting):
    """The next user of the connection waits again."""
    question, yes, no = waiting
    seen = []
    for async_commit in (False, True, True, False):
        with transaction(async_commit=async_commit):
            seen.append(session.scalar(text(question)))
    assert seen == [yes, no, no, yes]


@pytest.mark.parametrize("async_commit", [False, True])
def test_a_transaction_begins_in_one_round_trip(async_commit, tmp_path):
    """Only PostgreSQL is reached over a connection, which a client can trace."""
    if not is_postgresql():
        return
    with transaction():
        traced = session.connection().connection.dbapi_connection
    with (tmp_path / "trace").open("w+") as trace:
        traced.pgconn.trace(trace.fileno())
        with transaction(async_commit=async_commit):
            assert session.connection().connection.dbapi_connection is traced
            session.scalar(select(User.id))
        traced.pgconn.untrace()
        trace.seek(0)
        # Begin, select, and commit.
        assert trace.read().count("ReadyForQuery") == 3


def _fail_within_savepoint():
    with savepoint():
        # By a prepared statement only, which the session does not know about.
        record(SYSTEM, "auth.bot.failure", Target("user"), token_prefix="x")
        raise KeyError("stop")


def test_a_savepoint_undoes_what_prepared_statements_wrote():
    with transaction():
        with pytest.raises(KeyError):
            _fail_within_savepoint()
        session.add(new_user())
    with reading():
        assert session.scalar(select(func.count()).select_from(AuditEvent)) == 0
    assert count() == 1
