"""The query plan of a prepared statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from flask import Flask

from app.database import compiled_statements
from app.database import session as units
from app.database.session import reading

# Disabled: on few rows PostgreSQL would read and sort all, but the plan for many matters.
COSTS = ("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin")


def plan_of(connection: Any, ready: Any, given: dict[str, Any]) -> list[str]:
    """Return the plan of a compiled statement for these values, as lines of text."""
    parameters = ready.parameters(dict(given))
    driver = connection.connection.dbapi_connection
    if ready.is_positional:
        rows = driver.execute(f"EXPLAIN QUERY PLAN {ready.sql}", parameters).fetchall()
        return [row[3] for row in rows]
    for cost in COSTS:
        driver.execute(f"SET enable_{cost} = off")
    rows = driver.execute(f"EXPLAIN {ready.sql}", parameters).fetchall()
    for cost in COSTS:
        driver.execute(f"RESET enable_{cost}")
    return [row[0] for row in rows]


@contextmanager
def plans_of_reading(app: Flask) -> Iterator[list[str]]:
    """Collect the plans of the prepared statements that a reading unit of work runs."""
    seen: list[str] = []

    def run(
        connection: Any, ready: compiled_statements.Compiled, given: dict[str, Any]
    ) -> list[Any]:
        seen.append("\n".join(plan_of(connection, ready, given)))
        return compiled_statements.run(connection, ready, given)

    with mock.patch.object(units, "run", run), app.app_context(), reading():
        yield seen
