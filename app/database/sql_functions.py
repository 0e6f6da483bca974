"""The beginning of a text, as each database has it at hand; SQLAlchemy has no name for both."""

from typing import Any

from sqlalchemy import ColumnElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class Beginning(FunctionElement[str]):
    """``Beginning(text, length)``: its first so many characters."""

    inherit_cache = True
    type = Text()

    def __init__(self, text: ColumnElement[str] | Any, length: int) -> None:
        """Of nearly all texts, ``length`` is meant to be more than they have."""
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
    # A text with no more bytes needs no counting of its characters, which takes up to three times
    # as long as reading it.
    text, length = (compiler.process(clause, **options) for clause in element.clauses)
    size = in_bytes.format(text=text)
    return f"CASE WHEN {size} <= {length} THEN {text} ELSE substr({text}, 1, {length}) END"
