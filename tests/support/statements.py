"""Capture the SQL that the application runs, however it reaches the driver."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from flask import Flask
from sqlalchemy import event

from app.accounts import avatar_colors
from app.database import compiled_statements
from app.database import session as units
from app.database.session import db


@contextmanager
def statements(app: Flask) -> Iterator[list[str]]:
    """Collect the statements that run in the with-block, in order."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    def run(
        connection: Any, ready: compiled_statements.Compiled, given: dict[str, Any]
    ) -> list[Any]:
        seen.append(ready.sql)
        return compiled_statements.run(connection, ready, given)

    with app.app_context():
        engine = db.engine
        # A running process has learned them before.
        avatar_colors.learn()

    event.listen(engine, "before_cursor_execute", note)
    try:
        with mock.patch.object(units, "run", run):
            yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
