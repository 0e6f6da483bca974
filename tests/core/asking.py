"""Statements that need no table, by which tests see what is asked and answered."""

from sqlalchemy import BigInteger, Integer, String, text

from app.core.db import Prepared

NUMBER = Prepared(text("SELECT CAST(:number AS BIGINT) AS number").columns(number=BigInteger))
TEXT = Prepared(text("SELECT CAST(:word AS VARCHAR) AS word").columns(word=String))
FAILS = Prepared(text("SELECT 1 / CAST(:zero AS INTEGER) AS one").columns(one=Integer))


def number(value):
    """This number, from the database."""
    return NUMBER.all(number=value)[0].number


def word(value):
    """This word, from the database."""
    return TEXT.all(word=value)[0].word
