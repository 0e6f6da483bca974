"""Statements that PostgreSQL keeps ready: which, for how long, and what happens without them."""

import os
from socket import SHUT_RDWR, socket

import pytest
from sqlalchemy import Integer, bindparam, select, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.accounts.models import User
from app.core import server_prepared
from app.core.db import Prepared, reading, run_write, savepoint, session, transaction
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.core.server_prepared import numbered

pytestmark = pytest.mark.usefixtures("on_postgresql_alone")

QUERY = Prepared(select(User.username).where(User.id == bindparam("id")))
KEPT = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%users.username%'")


def have_driver_prepare():
    """What the driver prepares itself, it has the server forget together with all else."""
    for _ in range(10):
        session.scalar(text("SELECT 1"))


def kept():
    return session.scalar(KEPT)


def fail():
    have_driver_prepare()
    QUERY.all(id=new_id())
    raise ZeroDivisionError


def test_what_was_rolled_back_leaves_statements_ready():
    with pytest.raises(ZeroDivisionError):
        run_write(fail)
    with reading():
        assert kept() == 1
    # That was a statement of the session's, which ends with a rollback.
    with reading():
        assert kept() == 1


def test_a_savepoint_that_fails_takes_no_statement_away():
    with transaction():
        QUERY.all(id=new_id())
        for _ in range(3):
            with pytest.raises(ZeroDivisionError), savepoint():
                fail()
            assert QUERY.all(id=new_id()) == []


def test_savepoints_that_fail_leave_as_many_statements_as_before():
    """Where the driver prepared none of its own, it has the server forget none."""
    with transaction():
        for _ in range(20):
            with pytest.raises(ZeroDivisionError), savepoint():
                fail_at_once()
    with reading():
        assert kept() == 1


def fail_at_once():
    QUERY.all(id=new_id())
    raise ZeroDivisionError


def test_what_the_server_forgot_is_prepared_anew():
    with reading():
        QUERY.all(id=new_id())
        session.get_bind().connection.dbapi_connection.execute("DEALLOCATE ALL")
        assert QUERY.all(id=new_id()) == []
        assert kept() == 1


def test_work_whose_statement_the_server_forgot_runs_anew():
    tries = []

    def work():
        tries.append(1)
        if len(tries) == 1:
            QUERY.all(id=new_id())
            session.execute(text("DEALLOCATE ALL"))
        return QUERY.all(id=new_id())

    assert run_write(work) == []
    assert len(tries) == 2


def test_so_many_are_kept_and_no_more(monkeypatch):
    monkeypatch.setattr(server_prepared, "MOST_KEPT", 3)
    statements = [
        Prepared(text(f"SELECT {number} AS one").columns(one=Integer)) for number in range(5)
    ]
    with reading():
        for _ in range(2):
            for number, statement in enumerate(statements):
                assert statement.all()[0].one == number
        ours = text("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'docket%'")
        assert session.scalar(ours) == 3


def test_values_arrive_as_they_are():
    given = {"a": 1, "b": 1 << 40, "c": "it's 100 %", "d": None, "e": True, "f": ["x", "y"]}
    with reading():
        ready = server_prepared.ready_statements(session.get_bind())
        rows = ready.run(
            b"SELECT $1::int, $2::bigint, $3::text, $4::text, $5::boolean, $6::text[]",
            list(given.values()),
            list,
            begins=False,
        )
        assert rows == [list(given.values())]


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


def test_parameters_are_numbered_in_the_order_in_which_they_first_stand():
    sql, names = numbered("SELECT %(a)s::int %% 2, %(b)s::bigint, %(a)s::int, %(c)s::text")
    assert sql == b"SELECT $1::int % 2, $2::bigint, $1::int, $3::text"
    assert names == ("a", "b", "c")


def test_a_statement_that_is_wrong_is_refused_as_always():
    wrong = Prepared(text("SELECT nothing FROM users").columns(nothing=Integer))
    with reading():
        with pytest.raises(ProgrammingError):
            wrong.all()
        assert QUERY.all(id=new_id()) == []
