"""The query plan of a prepared statement."""

from typing import Any

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
