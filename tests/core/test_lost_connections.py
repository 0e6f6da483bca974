"""A connection that dies in a unit of work ends that unit, and leaves the thread as it was.

Found by make torture: a worker whose connection was killed while it read could never write again.
"""

from contextlib import suppress

import pytest
from sqlalchemy import select, text

from app.accounts.models import User
from app.core.db import db, reading, run_write, session
from app.core.errors import Unavailable
from tests.support.databases import postgres_database


def kill(pid):
    """End a process of PostgreSQL from another connection, and wait until it is gone."""
    with db.engine.connect() as other:
        other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})


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


WAYS = (read_through_session, read_on_after_it, write, write_on_after_it)


@pytest.fixture(name="losing")
def _losing(cluster):
    """An application on a PostgreSQL of its own: a file is never lost."""
    with postgres_database(cluster) as made:
        yield made.app


def test_a_lost_connection_ends_its_unit_of_work_alone(losing):
    with losing.app_context():
        for lose in WAYS:
            with suppress(Unavailable):
                lose()
            assert not db.session().in_transaction(), lose
            run_write(lambda: session.scalar(select(User.id).limit(1)))
            with reading():
                assert session.scalars(select(User)).all() == []
