"""Statements that SQLAlchemy compiles once and that run directly on the driver.

SQLAlchemy's overhead per run is three times the time that SQLite needs. So code in every request
uses these, in the same units of work as all other statements (``session.Prepared``).
"""

import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from psycopg.errors import InvalidSqlStatementName
from psycopg.pq import TransactionStatus
from sqlalchemy import (
    BindParameter,
    CompoundSelect,
    Connection,
    Delete,
    Dialect,
    Insert,
    Select,
    TextualSelect,
    Update,
)
from sqlalchemy.exc import DBAPIError

Converter = Callable[[Any], Any]
Query = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]] | TextualSelect
Statement = Query | Insert | Update | Delete

# PostgreSQL assumes a list of this length when it plans without knowing the list.
PLANNED_LENGTH = 10

# SQLAlchemy's placeholder for the list of an IN.
_LIST = re.compile(r"(NOT )?IN \(__\[POSTCOMPILE_(\w+)\]\)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement in the SQL of one database."""

    sql: str
    # The parameters: names in order if they are positional, constants, and converters.
    names: tuple[str, ...]
    constants: dict[str, Any]
    to_driver: dict[str, Converter]
    # Converters of result columns, by index.
    from_driver: tuple[tuple[int, Converter], ...]
    row: Callable[[Sequence[Any]], Any]
    has_rows: bool
    is_positional: bool

    def parameters(self, args: dict[str, Any]) -> Any:
        """The arguments as the driver takes them; changes ``args``."""
        for name, convert in self.to_driver.items():
            if name in args:
                args[name] = convert(args[name])
        values = {**self.constants, **args} if self.constants else args
        return list(map(values.__getitem__, self.names)) if self.is_positional else values

    def rows(self, records: Sequence[Sequence[Any]]) -> list[Any]:
        """Named tuples of the driver's records."""
        if not self.from_driver:
            return list(map(self.row, records))
        rows = []
        for record in records:
            values = list(record)
            for index, convert in self.from_driver:
                values[index] = convert(values[index])
            rows.append(self.row(values))
        return rows


def compiled(statement: Statement, dialect: Dialect, *, planned_once: bool) -> Compiled:
    """Compile a statement with named parameters; a list for ``IN`` is an expanding parameter.

    With ``planned_once``, PostgreSQL keeps one plan for lists of all lengths (``_padded``).
    """
    source: Any = statement.compile(dialect=dialect)
    on_sqlite = dialect.name == "sqlite"
    # A SELECT has selected columns; INSERT, UPDATE and DELETE export what they return.
    columns = list(getattr(statement, "selected_columns", statement.exported_columns))
    processors = [
        column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns
    ]
    binds = {name: bind for bind, name in source.bind_names.items()}
    converters = {name: _parameter_converter(bind, dialect) for name, bind in binds.items()}
    if planned_once and not on_sqlite:
        converters |= {name: _padded for name, bind in binds.items() if bind.expanding}
    constants = {name: bind.effective_value for name, bind in binds.items() if not bind.required}

    def list_parameter(placeholder: re.Match[str]) -> str:
        negation, name = placeholder[1] or "", placeholder[2]
        if on_sqlite:
            return f"{negation}IN (SELECT value FROM json_each(?))"  # noqa: S608 - two constants
        # Not a join with the list, for which PostgreSQL scans a small table completely.
        operator = "<> ALL" if negation else "= ANY"
        return f"{operator} (%({name})s::{binds[name].type.compile(dialect)}[])"

    return Compiled(
        sql=_LIST.sub(list_parameter, source.string),
        names=tuple(source.positiontup or ()),
        constants={
            name: convert(value) if (convert := converters[name]) else value
            for name, value in constants.items()
        },
        to_driver={
            name: convert
            for name, convert in converters.items()
            if convert and name not in constants
        },
        from_driver=tuple((index, convert) for index, convert in enumerate(processors) if convert),
        row=_row_type(tuple(str(column.key) for column in columns)),
        has_rows=bool(columns),
        is_positional=on_sqlite,
    )


def _row_type(names: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """A constructor of named tuples that is faster than ``_make``, which is Python code."""
    row: Any = namedtuple("Row", names)  # type: ignore[misc]  # names of this statement
    return partial(tuple.__new__, row)


def _parameter_converter(bind: BindParameter[Any], dialect: Dialect) -> Converter | None:
    if not bind.expanding:
        return bind.type.dialect_impl(dialect).bind_processor(dialect)
    if dialect.name == "sqlite":
        return lambda values: orjson.dumps(values).decode()
    return None


def _padded(values: list[Any]) -> list[Any]:
    """The list, padded with its first value to PLANNED_LENGTH.

    For a shorter list, PostgreSQL expects a better plan and makes a new one for each run. Planning
    takes longer than the run.
    """
    return [*values, *values[:1] * (PLANNED_LENGTH - len(values))]


def run(connection: Connection, prepared: Compiled, args: dict[str, Any]) -> list[Any]:
    """Run the statement and return its rows; raises DBAPIError like SQLAlchemy."""
    driver: Any = connection.connection.dbapi_connection
    values = prepared.parameters(args)
    try:
        cursor = _execute(driver, prepared, values)
        # In a pipeline, fetching waits for the server.
        return prepared.rows(cursor.fetchall()) if prepared.has_rows else []
    except connection.dialect.loaded_dbapi.Error as error:
        raise wrapped(connection, prepared.sql, error) from error


def _execute(driver: Any, prepared: Compiled, values: Any) -> Any:
    if prepared.is_positional:
        if not driver.in_transaction:
            # The same as ``connect.py`` does for a transaction that only reads.
            driver.execute("BEGIN")
        return driver.execute(prepared.sql, values)
    try:
        return driver.execute(prepared.sql, values, prepare=True)
    except InvalidSqlStatementName:
        if driver.info.transaction_status is not TransactionStatus.IDLE:
            # The transaction has failed; the unit of work runs again (``failures.is_retryable``).
            raise
        # The prepared statements were deallocated. This makes psycopg forget them too.
        driver.execute("DEALLOCATE ALL")
        return driver.execute(prepared.sql, values, prepare=True)


def wrapped(connection: Connection, sql: str | None, error: Any) -> BaseException:
    """The driver's error as SQLAlchemy's error; invalidates a lost connection."""
    dialect = connection.dialect
    is_lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if is_lost:
        connection.invalidate(error)
    wrapper: BaseException = DBAPIError.instance(
        sql,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=is_lost,
        dialect=dialect,
    )
    return wrapper
