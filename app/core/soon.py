"""Statements that go to PostgreSQL with another, by one turn, as they will be asked soon.

Whoever asks them later finds the answer here; who does not know of this loses nothing.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect

from app.core.at_work import reader
from app.core.prepared import Compiled, run_together


class _Prepared(Protocol):
    def all(self, **values: Any) -> list[Any]: ...

    def compiled(self, dialect: Dialect) -> Compiled: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A statement with the values of its parameters."""

    statement: _Prepared
    values: dict[str, Any]

    def rows(self) -> list[Any]:
        """Its rows, in the unit of work at hand."""
        return self.statement.all(**self.values)


class Soon:
    """What will be asked in one unit of work that reads, and the answers that are there already."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._waiting: list[Question] = []
        self._answered: list[tuple[Question, list[Any]]] = []

    def add(self, asked: Iterable[Question]) -> None:
        """Have these go along with whatever is asked next."""
        self._waiting += [one for one in asked if one not in self._waiting]

    def answer(self, connection: Connection, asked: Question) -> list[Any] | None:
        """The rows of this, if they came along before or others go along; each answer once."""
        for place, (known, rows) in enumerate(self._answered):
            if known == asked:
                del self._answered[place]
                return rows
        along = [one for one in self._waiting if one != asked]
        self._waiting.clear()
        if not along:
            return None
        together = [asked, *along]
        found = run_together(
            connection,
            # The values are turned in place.
            [(one.statement.compiled(connection.dialect), dict(one.values)) for one in together],
        )
        # One that failed is asked by itself in its time, and fails where it belongs.
        self._answered += [
            (one, rows) for one, rows in zip(along, found[1:], strict=True) if rows is not None
        ]
        return found[0]


# Of the unit of work at hand; None where nothing was announced.
asked_soon: ContextVar[Soon | None] = ContextVar("asked_soon", default=None)


def soon(asked: Callable[[], Iterable[Question]]) -> None:
    """What will certainly be asked in the unit of work at hand, that it may go along with the next.

    Each turn to PostgreSQL takes longer than most of our statements; SQLite needs none, and does
    not want to know. Nor does a unit of work that writes, whose later statements must see what was
    written.
    """
    connection = reader.get()
    if connection is None or connection.dialect.name == "sqlite":
        return
    waiting = asked_soon.get()
    if waiting is None:
        asked_soon.set(waiting := Soon())
    waiting.add(asked())
