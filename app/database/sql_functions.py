"""SQL functions that the two databases spell differently and SQLAlchemy lacks."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, Text, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class Position(FunctionElement[int]):
    """``Position(text, part)``: the index of the part, from 1; 0 if it is absent."""

    inherit_cache = True
    type = Integer()


@compiles(Position)
def _position_in_postgres(element: Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


@compiles(Position, "sqlite")
def _position_in_sqlite(element: Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"


def position_in_any_case(text: ColumnElement[str] | Any, part: str) -> Position:
    """The index of the part in the text, from 1, in any case; 0 if it is absent.

    The database lowers both: each has its own rules for letters such as a final Σ.
    """
    return Position(func.lower(text), func.lower(part))


class JsonRows(FunctionElement[Any]):
    """A JSON list with a list of these columns for each row; null or empty without rows."""

    type: TypeEngine[Any] = Text()
    inherit_cache = True


@compiles(JsonRows, "sqlite")
def _on_sqlite(element: JsonRows, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"


@compiles(JsonRows, "postgresql")
def _on_postgresql(element: JsonRows, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_agg(json_build_array({compiler.process(element.clauses, **options)}))::text"


class ClockMicros(FunctionElement[Any]):
    """The time in microseconds by PostgreSQL's clock; null on SQLite, which has none."""

    type: TypeEngine[Any] = BigInteger()
    inherit_cache = True


@compiles(ClockMicros, "sqlite")
def _no_clock(_element: ClockMicros, _compiler: SQLCompiler, **_options: Any) -> str:
    return "NULL"


@compiles(ClockMicros, "postgresql")
def _clock(_element: ClockMicros, _compiler: SQLCompiler, **_options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"


class Unindexed(FunctionElement[Any]):
    """A column for which no index is used."""

    inherit_cache = True


@compiles(Unindexed)
def _as_it_is(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(Unindexed, "sqlite")
def _behind_a_plus(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


class Beginning(FunctionElement[str]):
    """``Beginning(text, length)``: the first ``length`` characters; most texts are no longer."""

    inherit_cache = True
    type = Text()

    def __init__(self, text: ColumnElement[str] | Any, length: int) -> None:
        super().__init__(text, length)


@compiles(Beginning)
def _in_postgres(element: Beginning, compiler: SQLCompiler, **options: Any) -> str:
    return _in_sql(element, compiler, "octet_length({text})", options)


@compiles(Beginning, "sqlite")
def _in_sqlite(element: Beginning, compiler: SQLCompiler, **options: Any) -> str:
    return _in_sql(element, compiler, "length(CAST({text} AS BLOB))", options)


def _in_sql(
    element: Beginning, compiler: SQLCompiler, in_bytes: str, options: dict[str, Any]
) -> str:
    # If the bytes are no more than ``length``, skip counting characters, which takes up to three
    # times as long as reading the text.
    text, length = (compiler.process(clause, **options) for clause in element.clauses)
    size = in_bytes.format(text=text)
    return f"CASE WHEN {size} <= {length} THEN {text} ELSE substr({text}, 1, {length}) END"
