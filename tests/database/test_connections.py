"""A connection returns to the pool without a transaction or any state of its previous user."""

import threading
import time

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import bindparam, select, text

from app.accounts.models import User
from app.core import clock, ids
from app.core.clock import HOUR_MS
from app.database import connect
from app.database.locks import database_ms
from app.database.session import Prepared, db, reading, run_write, session, transaction
from tests.database.test_units_of_work import new_user

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
    """Return the driver's connection of a read-only unit of work."""
    with reading():
        NAMES.all()
        return driver_of(session.get_bind())


def test_what_only_read_is_used_again_and_sees_what_was_written_since():
    first = read()
    person = new_user()
    with transaction():
        session.add(person)
    with reading():
        assert driver_of(session.get_bind()) is first
        assert [row.id for row in NAMED.all(username=person.username)] == [person.id]


def test_who_reads_keeps_no_writer_out():
    with reading():
        session.scalar(select(User.id).limit(1))
        other = threading.Thread(target=written_elsewhere, args=(db.engine,))
        other.start()
        other.join(5)
        assert not other.is_alive()


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
    """Return whether a transaction is open."""
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


def fail():
    with reading():
        NAMES.all()
        raise KeyError("stop")


def test_a_unit_that_failed_gives_its_connection_back():
    with pytest.raises(KeyError):
        fail()
    assert db.engine.pool.checkedout() == 0


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
    assert db.engine.pool.checkedout() <= connect.MAX_IDLE_CONNECTIONS


def test_none_stays_open_where_the_engine_gives_up_its_connections():
    for _ in range(2):
        driver = read()
        db.engine.dispose()
        with pytest.raises(Exception, match="closed"):
            driver.execute("SELECT 1")
    assert read() is not driver
    run_write(lambda: session.add(new_user()))


@pytest.mark.parametrize("off_ms", [-20_000, 900, 30_000])
def test_ids_are_made_by_the_clock_of_postgresql_whatever_the_host_says(
    database, monkeypatch, off_ms
):
    if database.kind != "postgresql":
        # Its one host has the only clock.
        return
    monkeypatch.setattr(clock, "_shared", clock._SharedTime())
    monkeypatch.setattr(clock, "host_ms", lambda: time.time_ns() // 1_000_000 + off_ms)
    # The id that a command gives itself.
    ids.new_id()
    read()
    assert abs(clock.host_is_off_ms() - off_ms) < 500
    with reading():
        assert abs(ids.created_ms(ids.new_id()) - database_ms()) < 500


@pytest.mark.parametrize("behind_ms", [2, 500, HOUR_MS])
def test_ids_are_not_older_than_their_transaction(database, monkeypatch, behind_ms):
    if database.kind != "postgresql":
        return
    # The connection is made here.
    run_write(lambda: None)
    behind = clock._SharedTime(ahead_ns=clock._shared.ahead_ns - behind_ms * 1_000_000)
    monkeypatch.setattr(clock, "_shared", behind)
    monkeypatch.setattr(ids, "_last_ms", 0)
    for async_commit in (False, True):
        with transaction(async_commit=async_commit):
            event_ms = ids.created_ms(ids.new_id())
            began = session.scalar(text("SELECT floor(extract(epoch FROM now()) * 1000)::bigint"))
        assert began <= event_ms < began + 5_000


def test_a_process_follows_the_clock_of_postgresql_while_it_runs(database, monkeypatch):
    if database.kind != "postgresql":
        return
    read()
    monkeypatch.setattr(clock, "_shared", clock._SharedTime(ahead_ns=0))
    with reading():
        connect.follow_clock(session.connection())
        assert abs(clock.now_ms() - database_ms()) < 500
