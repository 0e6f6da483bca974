"""Seeing the SQL that the application runs, by whichever way it goes to the driver."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from flask import Flask
from sqlalchemy import event

from app.core import db as units
from app.core import prepared, soon
from app.core.db import db
from app.core.server_prepared import ReadyStatements


@contextmanager
def statements(app: Flask) -> Iterator[list[str]]:
    """The statements that run meanwhile, in their order."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    def run(connection: Any, ready: prepared.Compiled, given: dict[str, Any]) -> list[Any]:
        seen.append(ready.sql)
        return prepared.run(connection, ready, given)

    with app.app_context():
        engine = db.engine

    def run_together(connection: Any, asked: Any) -> list[list[Any]]:
        seen.extend(ready.sql for ready, _ in asked)
        return prepared.run_together(connection, asked)

    event.listen(engine, "before_cursor_execute", note)
    try:
        with (
            mock.patch.object(units, "run", run),
            mock.patch.object(soon, "run_together", run_together),
        ):
            yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


@contextmanager
def turns() -> Iterator[list[int]]:
    """How many statements went by each turn to PostgreSQL meanwhile; to SQLite there are none."""
    taken: list[int] = []
    one, several = ReadyStatements.run, ReadyStatements.run_together

    def run(self: ReadyStatements, *given: Any, **how: Any) -> list[Any]:
        taken.append(1)
        return one(self, *given, **how)

    def run_together(self: ReadyStatements, asked: Any) -> list[list[Any]]:
        taken.append(len(asked))
        return several(self, asked)

    with (
        mock.patch.object(ReadyStatements, "run", run),
        mock.patch.object(ReadyStatements, "run_together", run_together),
    ):
        yield taken


@contextmanager
def announced() -> Iterator[list[soon.Question]]:
    """What was said to be asked soon meanwhile, and was not."""
    idle: list[soon.Question] = []
    take, answer = soon.Soon.add, soon.Soon.answer

    def add(self: soon.Soon, asked: Iterable[soon.Question]) -> None:
        every = list(asked)
        idle.extend(every)
        take(self, every)

    def answered(self: soon.Soon, connection: Any, asked: soon.Question) -> list[Any]:
        if asked in idle:
            idle.remove(asked)
        return answer(self, connection, asked)

    with mock.patch.multiple(soon.Soon, add=add, answer=answered):
        yield idle
