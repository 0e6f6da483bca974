"""Column types, checks and table aliases that tables and statements share."""

from typing import Any, TypeVar

from sqlalchemy import CHAR, BigInteger, CheckConstraint, Dialect, Index, String, inspect, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Mapped, aliased, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine

T = TypeVar("T")


class Id(TypeDecorator[str]):
    """A UUID as canonical text in Python; ``uuid`` on PostgreSQL, CHAR(36) on SQLite.

    Text costs nothing to read and sorts like the UUID on both.
    """

    impl = CHAR(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.UUID(as_uuid=False))
        return dialect.type_descriptor(CHAR(36))

    def bind_processor(self, _dialect: Dialect) -> None:
        """Bind the text unchanged; the statement casts it to ``uuid`` on PostgreSQL."""

    def result_processor(self, _dialect: Dialect, _coltype: object) -> None:
        """Return the text unchanged; ``connect.py`` has psycopg load a ``uuid`` as text."""


# Milliseconds since the epoch.
Moment = BigInteger


# A rewind looks for texts that show files. The indexes of such rows have this condition, written
# exactly like that of the query.
FILE_ADDRESSES = "'%/files/%'"


class Count(BigInteger):
    """A large integer that is not a time."""


def one_of(column: str, values: type[Any]) -> CheckConstraint:
    """A CHECK that limits a text column to the values of a StrEnum."""
    allowed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({allowed})", name=column)


def index_of_bodies_with_files(table: str) -> Index:
    """An index of the rows whose ``body`` can show files."""
    condition = text(f"body LIKE {FILE_ADDRESSES}")
    name = f"ix_{table}_with_files"
    return Index(name, "id", sqlite_where=condition, postgresql_where=condition)


def id_key() -> Mapped[str]:
    """The primary key of every table."""
    return mapped_column(Id, primary_key=True)


def short_text(length: int = 200) -> String:
    return String(length)


def shared_alias(model: type[T], name: str) -> type[T]:
    """An alias that all threads may use, as its columns exist from the start.

    SQLAlchemy makes them on first use, two threads at once make them twice, and it refuses a mix.
    """
    alias = aliased(model, name=name)
    for column in inspect(model).columns:
        getattr(alias, column.key).expression  # noqa: B018
    return alias
