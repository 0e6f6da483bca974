"""Kinds of columns that many tables have."""

from typing import Any

from sqlalchemy import CHAR, BigInteger, CheckConstraint, Dialect, String
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine


class Id(TypeDecorator[str]):
    """A UUID as canonical text in Python; ``uuid`` on PostgreSQL, CHAR(36) on SQLite.

    Text costs nothing to read and sorts like the UUID on both.
    """

    impl = CHAR(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the database."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.UUID(as_uuid=False))
        return dialect.type_descriptor(CHAR(36))

    def bind_processor(self, _dialect: Dialect) -> None:
        """Text goes in as it is: PostgreSQL is told that it is a uuid."""

    def result_processor(self, _dialect: Dialect, _coltype: object) -> None:
        """Text comes out: ``engines`` sees to it."""


# Milliseconds since the epoch.
Moment = BigInteger


def one_of(column: str, values: type[Any]) -> CheckConstraint:
    """A CHECK that holds a text column to the values of a StrEnum."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def id_key() -> Mapped[str]:
    """The primary key every table has."""
    return mapped_column(Id, primary_key=True)


def short_text(length: int = 200) -> String:
    """A bounded text column."""
    return String(length)
