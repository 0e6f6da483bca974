"""Writes in a pipeline: their order, their rows, and their errors."""

from select import select as wait_until_readable
from typing import cast

import pytest
from sqlalchemy import Table, insert, select, text
from sqlalchemy.exc import IntegrityError

from app.accounts.models import User
from app.core import ids
from app.core.clock import now_ms
from app.core.errors import Unavailable
from app.database.session import (
    Prepared,
    is_postgresql,
    pipeline,
    reading,
    run_write,
    savepoint,
    session,
    transaction,
)

USERS = Prepared(select(User.username).order_by(User.username))
NEW_USER = Prepared(insert(cast("Table", User.__table__)))
EMPTY = dict.fromkeys(column.key for column in User.__table__.columns)


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


def written(username):
    moment = now_ms()
    user = {"id": ids.new_id(), "type": "human", "username": username, "display_name": "U"}
    user |= {"is_active": True, "is_paused": False, "created_at": moment, "updated_at": moment}
    NEW_USER.all(**EMPTY | user)


def count():
    with reading():
        return len(USERS.all())


def test_what_goes_in_a_pipeline_is_written_and_read_in_its_order():
    with transaction():
        with pipeline():
            written("a")
            assert [row.username for row in USERS.all()] == ["a"]
            written("b")
            written("c")
            assert [row.username for row in USERS.all()] == ["a", "b", "c"]
            written("d")
        assert len(USERS.all()) == 4
    assert count() == 4


def test_answers_that_came_early_are_not_taken_for_rows():
    """PostgreSQL sends responses on request, or once it has eight kilobytes of them."""
    with transaction(), pipeline():
        written("a")
        driver = session.connection().connection.dbapi_connection
        if is_postgresql():
            driver.pgconn.send_flush_request()
            driver.pgconn.flush()
            assert wait_until_readable([driver.pgconn.socket], [], [], 10)[0]
        assert [row.username for row in USERS.all()] == ["a"]


@pytest.mark.parametrize("reads", [True, False])
def test_what_is_refused_in_a_pipeline_is_refused_as_always(reads, caplog):
    def work():
        with pipeline():
            written("same")
            written("same")
            if reads:
                USERS.all()

    with pytest.raises(IntegrityError):
        run_write(work)
    assert count() == 0
    # The error is raised; psycopg need not log it.
    assert caplog.records == []
    run_write(lambda: written("same"))
    assert count() == 1


def test_a_collision_in_a_pipeline_runs_the_whole_work_again():
    """Only PostgreSQL has collisions."""
    if not is_postgresql():
        return
    fail = Prepared(
        text(
            "DO $$ BEGIN RAISE EXCEPTION 'collided' USING ERRCODE = 'serialization_failure'; END $$"
        ).columns()
    )
    tries = []

    def work():
        tries.append(1)
        with pipeline():
            written("a")
            if len(tries) < 3:
                fail.all()

    run_write(work)
    assert len(tries) == 3
    assert count() == 1


def test_a_connection_that_is_lost_in_a_pipeline_is_an_outage():
    if not is_postgresql():
        return
    end = Prepared(text("SELECT pg_terminate_backend(pg_backend_pid())").columns())

    def work():
        with pipeline():
            end.all()
            written("a")

    with pytest.raises(Unavailable):
        run_write(work)
    assert count() == 0


def test_what_is_refused_in_a_pipeline_may_be_undone_alone():
    def refused():
        with savepoint(), pipeline():
            written("same")
            written("same")

    with transaction():
        with pytest.raises(IntegrityError):
            refused()
        written("other")
    assert count() == 1


def test_only_who_writes_does_so_in_a_pipeline():
    with pytest.raises(RuntimeError, match="nothing is being written"), reading(), pipeline():
        pass
