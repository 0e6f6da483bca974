"""Prepared statements on PostgreSQL: which are kept, how long, and what happens without them."""

import os
from socket import SHUT_RDWR, socket

import pytest
from sqlalchemy import Integer, bindparam, select, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.accounts.models import User
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.database.session import Prepared, reading, run_write, savepoint, session, transaction

pytestmark = pytest.mark.usefixtures("on_postgresql_alone")

QUERY = Prepared(select(User.username).where(User.id == bindparam("id")))
KEPT = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%users.username%'")


def have_driver_prepare():
    """Let the driver prepare a statement: it deallocates all of them together with its own."""
    for _ in range(10):
        session.scalar(text("SELECT 1"))


def forget():
    """Deallocate the server's statements without the driver noticing."""
    session.connection().connection.dbapi_connection.pgconn.exec_(b"DEALLOCATE ALL")


def fail():
    have_driver_prepare()
    QUERY.all(id=new_id())
    raise ZeroDivisionError


def test_a_savepoint_that_fails_takes_no_statement_away():
    with transaction():
        QUERY.all(id=new_id())
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), savepoint():
                fail()
            assert QUERY.all(id=new_id()) == []


def test_what_the_server_forgot_is_prepared_anew():
    with reading():
        QUERY.all(id=new_id())
        session.get_bind().connection.dbapi_connection.pgconn.exec_(b"DEALLOCATE ALL")
        assert QUERY.all(id=new_id()) == []
        assert session.scalar(KEPT) == 1


def test_work_whose_statement_the_server_forgot_runs_anew():
    tries = []

    def work():
        tries.append(1)
        if len(tries) == 1:
            QUERY.all(id=new_id())
            forget()
        return QUERY.all(id=new_id())

    assert run_write(work) == []
    assert len(tries) == 2


def cut_off():
    driver = session.connection().connection.dbapi_connection
    with socket(fileno=os.dup(driver.pgconn.socket)) as line:
        line.shutdown(SHUT_RDWR)
    QUERY.all(id=new_id())


def cut_off_while_reading():
    with reading():
        cut_off()


def cut_off_while_reading_alone():
    with reading():
        driver = session.get_bind().connection.dbapi_connection
        with socket(fileno=os.dup(driver.pgconn.socket)) as line:
            line.shutdown(SHUT_RDWR)
        QUERY.all(id=new_id())


def cut_off_while_writing():
    run_write(cut_off)


def cut_off_in_a_savepoint():
    with transaction(), savepoint():
        cut_off()


@pytest.mark.parametrize(
    "lose",
    [
        cut_off_while_reading,
        cut_off_while_reading_alone,
        cut_off_while_writing,
        cut_off_in_a_savepoint,
    ],
)
def test_a_connection_that_breaks_without_a_word_is_an_outage(lose):
    with pytest.raises(Unavailable) as raised:
        lose()
    assert isinstance(raised.value.__cause__, OperationalError)
    with reading():
        assert QUERY.all(id=new_id()) == []


def test_a_statement_that_is_wrong_is_refused_as_always():
    wrong = Prepared(text("SELECT nothing FROM users").columns(nothing=Integer))
    with reading():
        with pytest.raises(ProgrammingError):
            wrong.all()
        assert QUERY.all(id=new_id()) == []
