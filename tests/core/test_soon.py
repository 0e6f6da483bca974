"""What will be asked soon goes to PostgreSQL along with what is asked next."""

import pytest
from sqlalchemy import Integer, String, bindparam, text

from app.core.db import Prepared, is_postgresql, reading, session, transaction
from app.core.soon import Question, soon
from tests.core.asking import FAILS, NUMBER, TEXT, number, word
from tests.support.statements import turns

NOTED = Prepared(text("SELECT count(*) AS many FROM noted").columns(many=Integer))


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


A, B, ONE, TWO = (
    *(TEXT.asked(word=value) for value in "ab"),
    *(NUMBER.asked(number=value) for value in (1, 2)),
)


@pytest.mark.parametrize(
    ("announced", "asked", "by_turn"),
    [
        pytest.param([A, TWO], [ONE, A, TWO], [3], id="all go along"),
        pytest.param([TWO, A], [TWO, A], [2], id="the next is one of them"),
        pytest.param([A], [ONE, B, A], [2, 1], id="another was not announced"),
        pytest.param([A], [ONE, A, A], [2, 1], id="an answer serves once"),
        pytest.param([A, A], [ONE, A], [2], id="announced twice"),
    ],
)
def test_what_is_announced_goes_along(announced, asked, by_turn):
    with reading(), turns() as taken:
        for one in announced:
            soon(lambda one=one: [one])
        for one in asked:
            assert [list(row) for row in one.rows()] == [list(one.values.values())]
    # SQLite is asked one after another, as there are no turns to save.
    assert taken == (by_turn if is_postgresql() else [])


def test_lists_and_nothing_are_values_too():
    listed = Prepared(
        text("SELECT count(*) AS many FROM users WHERE username IN :names")
        .bindparams(bindparam("names", expanding=True, type_=String()))
        .columns(many=Integer),
        # Its list is filled up on its way to PostgreSQL.
        planned_once=True,
    )
    with reading(), turns() as taken:
        soon(lambda: [listed.asked(names=["x", "y"]), TEXT.asked(word=None)])
        assert number(1) == 1
        assert listed.all(names=["x", "y"])[0].many == 0
        assert word(None) is None
    assert len(taken) == (1 if is_postgresql() else 0)


def test_answers_end_with_their_unit_of_work():
    with reading():
        soon(lambda: [TEXT.asked(word="a")])
        assert number(1) == 1
    with reading(), turns() as taken:
        assert word("a") == "a"
        assert number(1) == 1
    assert len(taken) == (2 if is_postgresql() else 0)


def test_what_was_announced_and_never_asked_is_gone_with_its_unit_of_work():
    with reading():
        soon(lambda: [FAILS.asked(zero=0)])
    with reading():
        assert number(1) == 1


def test_who_writes_sees_what_was_written():
    with transaction():
        session.execute(text("CREATE TEMPORARY TABLE noted (one INTEGER)"))
        soon(lambda: [NOTED.asked()])
        assert number(1) == 1
        session.execute(text("INSERT INTO noted VALUES (1)"))
        assert NOTED.all()[0].many == 1
        session.execute(text("DROP TABLE noted"))


def test_outside_a_unit_of_work_nothing_is_kept():
    soon(lambda: [TEXT.asked(word="a")])
    with reading(), turns() as taken:
        assert number(1) == 1
    assert taken == ([1] if is_postgresql() else [])


def test_a_unit_of_work_within_another_has_its_own():
    with reading():
        soon(lambda: [TEXT.asked(word="a")])
        with reading(), turns() as inside:
            soon(lambda: [TEXT.asked(word="b")])
            assert number(1) == 1
        with turns() as taken:
            assert number(2) == 2
            assert word("a") == "a"
    assert inside == ([2] if is_postgresql() else [])
    assert taken == ([2] if is_postgresql() else [])


def test_a_question_is_equal_by_statement_and_values():
    assert TEXT.asked(word="a") == Question(TEXT, {"word": "a"})
    assert TEXT.asked(word="a") != TEXT.asked(word="b")
    assert TEXT.asked(word="a") != NUMBER.asked(word="a")
