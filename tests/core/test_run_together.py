"""Statements that go to PostgreSQL by one turn see, and fail, as if each were asked by itself."""

import os
from socket import SHUT_RDWR, socket

import pytest
from psycopg import DataError
from sqlalchemy import BigInteger, Integer, String, text
from sqlalchemy.exc import DBAPIError

from app.core import server_prepared
from app.core.db import Prepared, db, reading, session
from app.core.errors import Unavailable
from app.core.server_prepared import ReadyStatements
from app.core.soon import soon
from tests.core.asking import FAILS, TEXT, number, word
from tests.support.statements import turns

pytestmark = pytest.mark.usefixtures("on_postgresql_alone")

SECOND = Prepared(text("SELECT 2 AS one").columns(one=Integer))
SLEEPS = Prepared(
    text("SELECT CAST(pg_sleep(CAST(:seconds AS DOUBLE PRECISION)) AS TEXT) AS slept").columns(
        slept=String
    )
)
# Two statements for the number of the transaction at hand.
TRANSACTION, SAME_TRANSACTION = (
    Prepared(
        text("SELECT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) AS number").columns(
            number=BigInteger
        )
    )
    for _ in range(2)
)


def test_each_is_a_transaction_of_its_own():
    """So that none keeps its locks while another waits for some."""
    with reading(), turns() as taken:
        soon(lambda: [SAME_TRANSACTION.asked()])
        first = TRANSACTION.all()[0].number
        assert SAME_TRANSACTION.all()[0].number != first
    assert taken == [2]


def test_a_failure_is_told_and_the_connection_goes_on():
    with reading():
        soon(lambda: [TEXT.asked(word="a")])
        with pytest.raises(DBAPIError, match="division by zero"):
            FAILS.all(zero=0)
        assert word("b") == "b"
        assert number(1) == 1


def test_what_goes_along_fails_where_it_is_asked():
    with reading():
        soon(lambda: [TEXT.asked(word="a"), FAILS.asked(zero=0), TEXT.asked(word="b")])
        assert number(1) == 1
        assert word("a") == "a"
        with pytest.raises(DBAPIError, match="division by zero"):
            FAILS.all(zero=0)
        with turns() as taken:
            assert word("b") == "b"
    assert taken == []


def test_in_a_transaction_of_the_sessions_too():
    with reading():
        session.execute(text("SELECT 1"))
        soon(lambda: [TEXT.asked(word="a")])
        assert number(1) == 1
        assert word("a") == "a"
        # There what fails spoils all that would come after it.
        soon(lambda: [FAILS.asked(zero=0)])
        with pytest.raises(DBAPIError, match="division by zero"):
            number(1)
    with reading():
        assert number(1) == 1


def test_what_takes_too_long_is_an_outage_of_its_own():
    def ask():
        with reading():
            session.execute(text("SET statement_timeout = 50"))
            soon(lambda: [SLEEPS.asked(seconds=5.0)])
            assert number(1) == 1
            SLEEPS.all(seconds=5.0)

    with pytest.raises(Unavailable):
        ask()
    db.engine.dispose()


def test_no_more_are_kept_than_may_be(monkeypatch):
    monkeypatch.setattr(server_prepared, "MOST_KEPT", 2)
    with reading():
        for _ in range(2):
            soon(lambda: [TEXT.asked(word="a")])
            assert number(1) == 1
            assert word("a") == "a"
            soon(lambda: [SECOND.asked()])
            assert FAILS.all(zero=1)[0].one == 1
            assert SECOND.all()[0].one == 2
        ours = text("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'docket%'")
        assert session.scalar(ours) == 2


def test_what_the_server_forgot_is_prepared_anew():
    with reading():
        for _ in range(2):
            soon(lambda: [TEXT.asked(word="a")])
            assert number(1) == 1
            assert word("a") == "a"
            session.get_bind().connection.dbapi_connection.execute("DEALLOCATE ALL")


def test_much_goes_both_ways_at_once():
    """Neither side waits for the other to take what it sends."""
    with reading():
        long = "x" * 5_000_000
        soon(lambda: [*(TEXT.asked(word=long + str(place)) for place in range(4))])
        assert number(1) == 1
        assert [word(long + str(place))[-1] for place in range(4)] == ["0", "1", "2", "3"]


def cut_off():
    driver = session.get_bind().connection.dbapi_connection
    with socket(fileno=os.dup(driver.pgconn.socket)) as line:
        line.shutdown(SHUT_RDWR)


def end_server():
    driver = session.get_bind().connection.dbapi_connection
    with reading():
        ended = text("SELECT pg_terminate_backend(:number)")
        session.execute(ended, {"number": driver.info.backend_pid})


@pytest.mark.parametrize("lose", [cut_off, end_server])
def test_a_lost_connection_is_an_outage_and_the_next_is_another(lose):
    with reading():
        number(1)

    def ask():
        with reading():
            number(1)
            lose()
            soon(lambda: [TEXT.asked(word="a")])
            number(2)

    with pytest.raises(Unavailable):
        ask()
    with reading():
        soon(lambda: [TEXT.asked(word="a")])
        assert number(1) == 1
        assert word("a") == "a"


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError])
def test_whatever_comes_in_between_leaves_no_answer_behind(error, monkeypatch):
    """What is on its way then must not be taken for what is asked next."""

    def fail(_statements):
        raise error

    with reading():
        number(1)
        soon(lambda: [TEXT.asked(word="a")])
        with monkeypatch.context() as patched:
            patched.setattr(ReadyStatements, "_next", fail)
            with pytest.raises((KeyboardInterrupt, DBAPIError)):
                number(2)
        assert word("b") == "b"
    with reading():
        assert number(3) == 3
