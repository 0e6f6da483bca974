"""Statements that are compiled once and then run straight on the driver.

SQLAlchemy writes the SQL and says how values are turned; all else it does for each run costs three
times what SQLite takes to answer. The paths that every request takes use these, inside the same
units of work as everything else (``db.prepared``).
"""

import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from psycopg.errors import InvalidSqlStatementName
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

# So many values PostgreSQL expects of a list that it cannot see.
PLANNED_LENGTH = 10

# How SQLAlchemy leaves room for the list of an IN.
_LIST = re.compile(r"(NOT )?IN \(__\[POSTCOMPILE_(\w+)\]\)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement in the language of one database."""

    sql: str
    # The order of its parameters, where that counts; the constants among them; how values turn.
    names: tuple[str, ...]
    fixed: dict[str, Any]
    into: dict[str, Converter]
    # The columns whose values are turned on their way out.
    out_of: tuple[tuple[int, Converter], ...]
    row: Callable[[Sequence[Any]], Any]
    has_rows: bool
    is_positional: bool

    def parameters(self, given: dict[str, Any]) -> Any:
        """The values as the driver takes them."""
        for name, turn in self.into.items():
            if name in given:
                given[name] = turn(given[name])
        values = {**self.fixed, **given} if self.fixed else given
        return [values[name] for name in self.names] if self.is_positional else values

    def rows(self, found: Sequence[Sequence[Any]]) -> list[Any]:
        """Rows whose columns have names."""
        if not self.out_of:
            return list(map(self.row, found))
        turned = []
        for one in found:
            values = list(one)
            for place, turn in self.out_of:
                values[place] = turn(values[place])
            turned.append(self.row(values))
        return turned


def compiled(statement: Statement, dialect: Dialect, *, planned_once: bool) -> Compiled:
    """Compile a statement whose parameters are named; a list for ``IN`` is an expanding one.

    ``planned_once``: no value of its lists should change how PostgreSQL goes about it.
    """
    made: Any = statement.compile(dialect=dialect)
    on_sqlite = dialect.name == "sqlite"
    # What INSERT, UPDATE and DELETE return is exported; what SELECT has is selected.
    columns = list(getattr(statement, "selected_columns", statement.exported_columns))
    outs = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
    kind = _row_of(tuple(str(column.key) for column in columns))
    binds = {name: bind for bind, name in made.bind_names.items()}
    turns = {name: _converter_in(bind, dialect) for name, bind in binds.items()}
    if planned_once and not on_sqlite:
        turns |= {name: _filled for name, bind in binds.items() if bind.expanding}
    fixed = {name: bind.effective_value for name, bind in binds.items() if not bind.required}

    def room_for_list(found: re.Match[str]) -> str:
        negation, name = found[1] or "", found[2]
        if on_sqlite:
            return f"{negation}IN (SELECT value FROM json_each(?))"  # noqa: S608 - two constants
        # A join with the list would have PostgreSQL read a whole small table.
        compared = "<> ALL" if negation else "= ANY"
        return f"{compared} (%({name})s::{binds[name].type.compile(dialect)}[])"

    sql = _LIST.sub(room_for_list, made.string)
    return Compiled(
        sql=sql,
        names=tuple(made.positiontup or ()),
        fixed={
            name: turn(value) if (turn := turns[name]) else value for name, value in fixed.items()
        },
        into={name: turn for name, turn in turns.items() if turn and name not in fixed},
        out_of=tuple((place, turn) for place, turn in enumerate(outs) if turn is not None),
        row=kind,
        has_rows=bool(columns),
        is_positional=on_sqlite,
    )


def _row_of(names: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """Makes named tuples, as ``_make`` does, without a function of Python's for each row."""
    kind: Any = namedtuple("Row", names)  # type: ignore[misc]  # the names are known here alone
    return partial(tuple.__new__, kind)


def _converter_in(bind: BindParameter[Any], dialect: Dialect) -> Converter | None:
    turn = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if not bind.expanding:
        return turn
    if dialect.name == "sqlite":
        return lambda values: orjson.dumps(values).decode()
    return None


def _filled(values: list[Any]) -> list[Any]:
    """A list, filled up with its first value to the length planned for.

    For fewer values the plan that fits them seems so much cheaper to PostgreSQL than the one that
    it has that it plans anew for each run, which takes longer than the run.
    """
    return [*values, *values[:1] * (PLANNED_LENGTH - len(values))]


def run(connection: Connection, prepared: Compiled, given: dict[str, Any]) -> list[Any]:
    """All rows of the statement, if it has any; raises DBAPIError as SQLAlchemy does."""
    driver: Any = connection.connection.dbapi_connection
    values = prepared.parameters(given)
    try:
        found = _executed(driver, prepared, values)
        # Within a pipeline, to ask for rows is to wait for them.
        return prepared.rows(found.fetchall()) if prepared.has_rows else []
    except connection.dialect.loaded_dbapi.Error as error:
        raise wrapped(connection, prepared.sql, error) from error


def _executed(driver: Any, prepared: Compiled, values: Any) -> Any:
    """The cursor in which the statement ran."""
    if prepared.is_positional:
        if not driver.in_transaction:
            # As ``engines`` begins a transaction that only reads.
            driver.execute("BEGIN")
        return driver.execute(prepared.sql, values)
    try:
        return driver.execute(prepared.sql, values, prepare=True)
    except InvalidSqlStatementName:
        if not driver.autocommit:
            # The transaction is spoilt; it runs anew (``failures.is_retryable``).
            raise
        # Somebody had the server forget its statements; by this the driver forgets them too.
        driver.execute("DEALLOCATE ALL")
        return driver.execute(prepared.sql, values, prepare=True)


def wrapped(connection: Connection, sql: str | None, error: Any) -> BaseException:
    """The driver's error as one of SQLAlchemy's; a lost connection leaves the pool."""
    dialect = connection.dialect
    lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if lost:
        connection.invalidate(error)
    made: BaseException = DBAPIError.instance(
        sql,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=True,
        connection_invalidated=lost,
        dialect=dialect,
    )
    return made
