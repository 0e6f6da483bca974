"""What will be asked soon goes to PostgreSQL along with what is asked next."""

import os
from socket import SHUT_RDWR, socket

import pytest
from psycopg import DataError
from sqlalchemy import BigInteger, Integer, String, bindparam, text
from sqlalchemy.exc import DBAPIError

from app.core import server_prepared
from app.core.db import Prepared, db, is_postgresql, reading, session, transaction
from app.core.errors import Unavailable
from app.core.server_prepared import ReadyStatements
from app.core.soon import Asked, soon
from tests.support.statements import turns

NUMBER = Prepared(text("SELECT CAST(:number AS BIGINT) AS number").columns(number=BigInteger))
TEXT = Prepared(text("SELECT CAST(:word AS VARCHAR) AS word").columns(word=String))
NOTED = Prepared(text("SELECT count(*) AS many FROM noted").columns(many=Integer))
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
FAILS = Prepared(text("SELECT 1 / CAST(:zero AS INTEGER) AS one").columns(one=Integer))


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


def number(value):
    return NUMBER.all(number=value)[0].number


def word(value):
    return TEXT.all(word=value)[0].word


def test_what_is_asked_soon_comes_by_one_turn():
    with reading(), turns() as taken:
        soon(TEXT.asked(word="a"), NUMBER.asked(number=2))
        assert number(1) == 1
        assert word("a") == "a"
        assert number(2) == 2
    # SQLite is asked one after another, as there are no turns to save.
    assert len(taken) == (1 if is_postgresql() else 0)


def test_the_next_may_be_what_was_to_be_asked_soon():
    with reading(), turns() as taken:
        soon(NUMBER.asked(number=2), TEXT.asked(word="a"))
        assert number(2) == 2
        assert word("a") == "a"
    assert len(taken) == (1 if is_postgresql() else 0)


def test_what_was_not_announced_is_asked_by_itself():
    with reading(), turns() as taken:
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
        assert word("b") == "b"
        assert word("a") == "a"
    assert len(taken) == (2 if is_postgresql() else 0)


def test_an_answer_serves_once():
    with reading(), turns() as taken:
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
        assert word("a") == word("a") == "a"
    assert len(taken) == (2 if is_postgresql() else 0)


def test_lists_and_nothing_are_values_too():
    listed = Prepared(
        text("SELECT count(*) AS many FROM users WHERE username IN :names")
        .bindparams(bindparam("names", expanding=True, type_=String()))
        .columns(many=Integer),
        # Its list is filled up on its way to PostgreSQL.
        planned_once=True,
    )
    with reading(), turns() as taken:
        soon(listed.asked(names=["x", "y"]), TEXT.asked(word=None))
        assert number(1) == 1
        assert listed.all(names=["x", "y"])[0].many == 0
        assert word(None) is None
    assert len(taken) == (1 if is_postgresql() else 0)


def test_answers_end_with_their_unit_of_work():
    with reading():
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
    with reading(), turns() as taken:
        assert word("a") == "a"
        assert number(1) == 1
    assert len(taken) == (2 if is_postgresql() else 0)


def test_what_was_announced_and_never_asked_is_gone_with_its_unit_of_work():
    with reading():
        soon(FAILS.asked(zero=0))
    with reading():
        assert number(1) == 1


def test_who_writes_sees_what_was_written():
    with transaction():
        session.execute(text("CREATE TEMPORARY TABLE noted (one INTEGER)"))
        soon(NOTED.asked())
        assert number(1) == 1
        session.execute(text("INSERT INTO noted VALUES (1)"))
        assert NOTED.all()[0].many == 1
        session.execute(text("DROP TABLE noted"))


def test_outside_a_unit_of_work_nothing_is_kept():
    soon(TEXT.asked(word="a"))
    with reading(), turns() as taken:
        assert number(1) == 1
    assert taken == ([1] if is_postgresql() else [])


def test_a_unit_of_work_within_another_has_its_own():
    with reading():
        soon(TEXT.asked(word="a"))
        with reading(), turns() as inside:
            soon(TEXT.asked(word="b"))
            assert number(1) == 1
        with turns() as taken:
            assert number(2) == 2
            assert word("a") == "a"
    assert inside == ([2] if is_postgresql() else [])
    assert taken == ([2] if is_postgresql() else [])


def test_what_is_announced_twice_is_asked_once():
    with reading(), turns() as taken:
        soon(TEXT.asked(word="a"))
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
    assert taken == ([2] if is_postgresql() else [])


def test_each_is_a_transaction_of_its_own():
    """So that none keeps its locks while another waits for some."""
    with reading(), turns() as taken:
        if not is_postgresql():
            return
        soon(SAME_TRANSACTION.asked())
        first = TRANSACTION.all()[0].number
        assert SAME_TRANSACTION.all()[0].number != first
    assert taken == [2]


def test_a_failure_is_told_and_the_connection_goes_on():
    with reading():
        if not is_postgresql():
            return
        soon(TEXT.asked(word="a"))
        with pytest.raises(DBAPIError, match="division by zero"):
            FAILS.all(zero=0)
        assert word("b") == "b"
        assert number(1) == 1


def test_what_goes_along_fails_where_it_is_asked():
    with reading():
        if not is_postgresql():
            return
        soon(TEXT.asked(word="a"), FAILS.asked(zero=0), TEXT.asked(word="b"))
        assert number(1) == 1
        assert word("a") == "a"
        with pytest.raises(DBAPIError, match="division by zero"):
            FAILS.all(zero=0)
        with turns() as taken:
            assert word("b") == "b"
    assert taken == []


def test_in_a_transaction_of_the_sessions_too():
    with reading():
        if not is_postgresql():
            return
        session.execute(text("SELECT 1"))
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
        assert word("a") == "a"
        # There what fails spoils all that would come after it.
        soon(FAILS.asked(zero=0))
        with pytest.raises(DBAPIError, match="division by zero"):
            number(1)
    with reading():
        assert number(1) == 1


def test_what_takes_too_long_is_an_outage_of_its_own():
    def ask():
        with reading():
            session.execute(text("SET statement_timeout = 50"))
            soon(SLEEPS.asked(seconds=5.0))
            assert number(1) == 1
            SLEEPS.all(seconds=5.0)

    with reading():
        if not is_postgresql():
            return
    with pytest.raises(Unavailable):
        ask()
    db.engine.dispose()


def test_no_more_are_kept_than_may_be(monkeypatch):
    monkeypatch.setattr(server_prepared, "MOST_KEPT", 2)
    with reading():
        if not is_postgresql():
            return
        for _ in range(2):
            soon(TEXT.asked(word="a"))
            assert number(1) == 1
            assert word("a") == "a"
            soon(SECOND.asked())
            assert FAILS.all(zero=1)[0].one == 1
            assert SECOND.all()[0].one == 2
        ours = text("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'docket%'")
        assert session.scalar(ours) == 2


def test_what_the_server_forgot_is_prepared_anew():
    with reading():
        if not is_postgresql():
            return
        for _ in range(2):
            soon(TEXT.asked(word="a"))
            assert number(1) == 1
            assert word("a") == "a"
            session.get_bind().connection.dbapi_connection.execute("DEALLOCATE ALL")


def test_much_goes_both_ways_at_once():
    """Neither side waits for the other to take what it sends."""
    with reading():
        if not is_postgresql():
            return
        long = "x" * 5_000_000
        soon(*(TEXT.asked(word=long + str(place)) for place in range(4)))
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
        if not is_postgresql():
            return
        number(1)

    def ask():
        with reading():
            number(1)
            lose()
            soon(TEXT.asked(word="a"))
            number(2)

    with pytest.raises(Unavailable):
        ask()
    with reading():
        soon(TEXT.asked(word="a"))
        assert number(1) == 1
        assert word("a") == "a"


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError])
def test_whatever_comes_in_between_leaves_no_answer_behind(error, monkeypatch):
    """What is on its way then must not be taken for what is asked next."""

    def fail(_statements):
        raise error

    with reading():
        if not is_postgresql():
            return
        number(1)
        soon(TEXT.asked(word="a"))
        with monkeypatch.context() as patched:
            patched.setattr(ReadyStatements, "_next", fail)
            with pytest.raises((KeyboardInterrupt, DBAPIError)):
                number(2)
        assert word("b") == "b"
    with reading():
        assert number(3) == 3


def test_asked_is_equal_by_statement_and_values():
    assert TEXT.asked(word="a") == Asked(TEXT, {"word": "a"})
    assert TEXT.asked(word="a") != TEXT.asked(word="b")
    assert TEXT.asked(word="a") != NUMBER.asked(word="a")
