"""Copying every row of one database into another of the same schema.

Tables go parents first. A row may refer to one of its own table that comes after it, so such
references are written when all rows are there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Table, bindparam, func, insert, select, update

from app.core.db import Base
from app.search.models import SearchDocument

BATCH = 500
# Built anew from the rows: its places are numbers of the database that made them.
LEFT_OUT = frozenset({SearchDocument.__tablename__})


@dataclass(frozen=True, slots=True)
class Copied:
    """How many rows of a table went over."""

    table: str
    rows: int


def tables() -> list[Table]:
    """The tables to copy, parents before children."""
    return [table for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT]


def count(connection: Connection, table: Table) -> int:
    """How many rows a table has."""
    return connection.scalar(select(func.count()).select_from(table)) or 0


def copy_table(
    source: Connection, target: Connection, table: Table, done: Callable[[int], object]
) -> Copied:
    """Copy the rows of a table; ``done`` is told how many each step took over."""
    inner = [column for column in table.columns if _refers_to_own_table(column, table)]
    rows = 0
    found = source.execution_options(yield_per=BATCH).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    for part in found.mappings().partitions():
        values = [{**row, **dict.fromkeys((column.name for column in inner), None)} for row in part]
        target.execute(insert(table), values)
        rows += len(values)
        done(len(values))
    for column in inner:
        _copy_references(source, target, table, column)
    return Copied(table.name, rows)


def _refers_to_own_table(column: Column[object], table: Table) -> bool:
    return any(key.column.table is table for key in column.foreign_keys)


def _copy_references(
    source: Connection, target: Connection, table: Table, column: Column[object]
) -> None:
    (key,) = table.primary_key.columns
    found = source.execution_options(yield_per=BATCH).execute(
        select(key.label("the_key"), column.label("the_value")).where(column.is_not(None))
    )
    statement = (
        update(table)
        .where(key == bindparam("the_key", type_=key.type))
        .values({column: bindparam("the_value", type_=column.type)})
    )
    for part in found.mappings().partitions():
        target.execute(statement, [dict(row) for row in part])
