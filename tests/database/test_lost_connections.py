"""A connection lost in a unit of work ends only that unit; its thread can go on.

Found by make torture: a worker whose connection was killed during a read could never write again.
"""

from contextlib import suppress

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import bindparam, select, text

from app.accounts.models import User
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.database import connect
from app.database.session import Prepared, db, reading, run_write, session
from tests.support.databases import postgres_database

pytestmark = pytest.mark.slow

TERMINATE = text("SELECT pg_terminate_backend(:pid, 5000)")


def kill(pid):
    """Kill a PostgreSQL process from another connection, and wait until it is gone."""
    with db.engine.connect() as other:
        other.execute(TERMINATE, {"pid": pid})


def read_through_session():
    with reading():
        pid = session.scalar(text("SELECT pg_backend_pid()"))
        kill(pid)


def read_on_after_it():
    with reading():
        pid = session.scalar(text("SELECT pg_backend_pid()"))
        kill(pid)
        session.scalars(select(User)).all()


def write():
    run_write(lambda: kill(session.scalar(text("SELECT pg_backend_pid()"))))


def write_on_after_it():
    def work():
        kill(session.scalar(text("SELECT pg_backend_pid()")))
        session.scalars(select(User)).all()

    run_write(work)


def fail_after_reading():
    session.scalar(text("SELECT 1"))
    raise ZeroDivisionError


QUERY = Prepared(select(User.username).where(User.id == bindparam("id")))
WAYS = (read_through_session, read_on_after_it, write, write_on_after_it)


@pytest.fixture(name="losing")
def _losing(cluster):
    """Provide an application on its own PostgreSQL: a file cannot be lost."""
    with postgres_database(cluster) as made:
        yield made.app


def test_a_lost_connection_ends_its_unit_of_work_alone(losing, monkeypatch):
    # A connection lost after the last statement is noticed when the pool checks it.
    monkeypatch.setattr(connect, "FRESH_SECONDS", 0.0)
    with losing.app_context():
        for lose in WAYS:
            with suppress(Unavailable):
                lose()
            assert not db.session().in_transaction(), lose
            run_write(lambda: session.scalar(select(User.id).limit(1)))
            with reading():
                assert session.scalars(select(User)).all() == []


def test_reads_take_no_transaction_and_connections_come_back_without_one(losing):
    with losing.app_context():
        with reading():
            connection = db.session().get_bind()
            driver = connection.connection.dbapi_connection
            assert QUERY.first(id=new_id()) is None
            assert driver.pgconn.transaction_status == TransactionStatus.IDLE
        with suppress(ZeroDivisionError):
            run_write(fail_after_reading)
        assert not driver.closed
        with reading():
            # The pool hands out the connection that was returned last.
            again = db.session().get_bind().connection.dbapi_connection
            assert again is driver
            assert again.pgconn.transaction_status == TransactionStatus.IDLE


def test_ids_are_text(losing):
    with losing.app_context(), reading():
        assert isinstance(session.scalar(text("SELECT gen_random_uuid()")), str)


def test_a_connection_that_lay_and_died_meanwhile_is_replaced(losing, monkeypatch):
    with losing.app_context():
        with db.engine.connect() as other:
            with reading():
                QUERY.all(id=new_id())
                pid = session.get_bind().connection.dbapi_connection.info.backend_pid
            other.execute(TERMINATE, {"pid": pid})
            other.invalidate()
        monkeypatch.setattr(connect, "FRESH_SECONDS", 0)
        with reading():
            assert QUERY.all(id=new_id()) == []
