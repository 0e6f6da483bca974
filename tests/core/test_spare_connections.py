"""Connections that were just read by are used again, and keep nothing of who read by them."""

import threading

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import bindparam, create_engine, select, text

from app.accounts.models import User
from app.core import spare_connections
from app.core.db import Prepared, db, reading, run_write, session, transaction
from app.core.engines import WRITES
from tests.core.test_units_of_work import new_user

NAMES = Prepared(select(User.username))
NAMED = Prepared(select(User.id).where(User.username == bindparam("username")))


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        db.engine.dispose()
        yield
        db.engine.dispose()


def driver_of(connection):
    return connection.connection.dbapi_connection


def read():
    """The driver's connection of a unit of work that only reads."""
    with reading():
        NAMES.all()
        return driver_of(session.get_bind())


def test_what_only_read_is_used_again_and_sees_what_was_written_since():
    first = read()
    person = new_user()
    with transaction():
        assert driver_of(session.get_bind()) is first
        session.add(person)
    kept = read()
    with reading():
        assert driver_of(session.get_bind()) is kept
        assert [row.id for row in NAMED.all(username=person.username)] == [person.id]


def test_what_wrote_is_used_again_on_sqlite_and_reads_without_keeping_writers_out():
    with transaction():
        session.add(new_user())
        connection = session.get_bind()
    with reading():
        again = session.get_bind()
        session.scalar(select(User.id).limit(1))
        other = threading.Thread(target=written_elsewhere, args=(db.engine,))
        other.start()
        other.join(5)
        assert not other.is_alive()
        assert not again.get_execution_options().get(WRITES)
    assert (again is connection) == (db.engine.dialect.name == "sqlite")


def test_a_reader_of_another_moment_does_not_keep_the_old_one_open():
    with reading():
        before = len(NAMES.all())
    other = threading.Thread(target=written_elsewhere, args=(db.engine,))
    other.start()
    other.join()
    with reading():
        assert len(NAMES.all()) == before + 1


def written_elsewhere(engine):
    person = new_user()
    with engine.begin() as connection:
        connection.execute(
            User.__table__.insert().values(
                id=person.id,
                type="human",
                username=person.username,
                display_name="U",
                is_active=True,
                created_at=person.created_at,
                updated_at=person.updated_at,
            )
        )


def is_open(driver):
    """Whether a transaction is open."""
    if hasattr(driver, "in_transaction"):
        return driver.in_transaction
    return driver.pgconn.transaction_status != TransactionStatus.IDLE


@pytest.mark.parametrize("by_session", [True, False])
def test_no_transaction_is_left_open(by_session):
    with reading():
        driver = driver_of(session.get_bind())
        NAMES.all()
        if by_session:
            session.scalar(text("SELECT 1"))
    assert not is_open(driver)
    driver = read()
    assert not is_open(driver)


def left_by_a_reader():
    """The driver's connection of a unit of work that goes on."""
    with reading(goes_on=True):
        NAMES.all()
        return driver_of(session.get_bind())


def test_a_unit_that_goes_on_leaves_its_snapshot_to_the_next_one_alone():
    first = left_by_a_reader()
    other = threading.Thread(target=written_elsewhere, args=(db.engine,))
    with reading():
        before = len(NAMES.all())
    assert left_by_a_reader() is first
    other.start()
    other.join()
    with reading():
        assert driver_of(session.get_bind()) is first
        # Each statement of PostgreSQL sees what is there when it begins.
        is_sqlite = db.engine.dialect.name == "sqlite"
        assert len(NAMES.all()) == (before if is_sqlite else before + 1)
    with reading():
        assert len(NAMES.all()) == before + 1


def test_what_goes_on_without_a_next_one_is_ended():
    driver = left_by_a_reader()
    spare_connections.end_left()
    assert not is_open(driver)
    assert read() is driver


def test_what_writes_does_not_go_on_in_a_snapshot():
    left_by_a_reader()
    person = new_user()
    run_write(lambda: session.add(person))
    assert spare_connections._left.get() is None
    with reading():
        assert NAMED.all(username=person.username)


def test_the_connection_of_another_engine_is_not_taken_up():
    left_by_a_reader()
    other = create_engine("sqlite://")
    with spare_connections.taken_up(other) as connection:
        assert connection.engine is other
    spare_connections.end_left()


def fail(*, goes_on=False):
    with reading(goes_on=goes_on):
        NAMES.all()
        raise KeyError("stop")


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_unit_that_failed_gives_its_connection_to_the_pool(goes_on):
    with pytest.raises(KeyError):
        fail(goes_on=goes_on)
    assert db.engine.pool.checkedout() == 0


def test_what_lay_for_more_than_a_moment_goes_to_the_pool_first(monkeypatch):
    with reading():
        NAMES.all()
        kept = session.get_bind()
    assert db.engine.pool.checkedout() == 1
    with reading():
        assert session.get_bind() is kept
    monkeypatch.setattr(spare_connections, "FRESH_SECONDS", 0.0)
    with reading():
        assert session.get_bind() is not kept
        assert db.engine.pool.checkedout() == 1


def test_only_a_few_are_kept(app):
    together = threading.Barrier(4)

    def many():
        with app.app_context(), reading():
            NAMES.all()
            together.wait(10)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.engine.pool.checkedout() == spare_connections.MOST_KEPT


def test_none_stays_open_where_the_engine_gives_up_its_connections():
    driver = read()
    db.engine.dispose()
    with pytest.raises(Exception, match="closed"):
        driver.execute("SELECT 1")
    assert read() is not driver
    run_write(lambda: session.add(new_user()))
