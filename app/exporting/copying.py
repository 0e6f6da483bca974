"""Copying every row of one database into another of the same schema, parents first.

A row may refer to a later row of the same table, so such references are written last.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Column, Connection, Table, bindparam, func, insert, select, update

from app.database.session import Base
from app.search.documents import SearchDocument

BATCH = 500
# The search index is rebuilt, as it refers to row numbers of one database.
LEFT_OUT = frozenset({SearchDocument.__tablename__})


def tables() -> list[Table]:
    return [table for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT]


def count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0


def copy_table(
    source: Connection, target: Connection, table: Table, done: Callable[[int], object]
) -> int:
    """Copy the rows of a table and return their number; ``done`` gets the number per batch."""
    rows = source.execution_options(yield_per=BATCH).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    return store_rows(target, table, (dict(row) for row in rows.mappings()), done)


def store_rows(
    target: Connection,
    table: Table,
    rows: Iterable[dict[str, Any]],
    done: Callable[[int], object],
) -> int:
    """Insert rows and return their number; ``done`` gets the number per batch."""
    self_references = [column for column in table.columns if _refers_to_own_table(column, table)]
    references: dict[str, list[dict[str, Any]]] = {column.name: [] for column in self_references}
    stored = 0
    for batch in _batches(rows):
        for row in batch:
            for column in self_references:
                if row[column.name] is not None:
                    references[column.name].append(_reference(table, row, column.name))
                row[column.name] = None
        target.execute(insert(table), batch)
        stored += len(batch)
        done(len(batch))
    for column in self_references:
        _store_references(target, table, column, references[column.name])
    return stored


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _refers_to_own_table(column: Column[object], table: Table) -> bool:
    return any(key.column.table is table for key in column.foreign_keys)


def _reference(table: Table, row: dict[str, Any], name: str) -> dict[str, Any]:
    (key,) = table.primary_key.columns
    return {"the_key": row[key.name], "the_value": row[name]}


def _store_references(
    target: Connection, table: Table, column: Column[object], references: list[dict[str, Any]]
) -> None:
    (key,) = table.primary_key.columns
    statement = (
        update(table)
        .where(key == bindparam("the_key", type_=key.type))
        .values({column: bindparam("the_value", type_=column.type)})
    )
    for batch in _batches(references):
        target.execute(statement, batch)
