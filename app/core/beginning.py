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
    # A text with no more bytes needs no counting of its characters, which takes three times as long
    # as reading it.
    text, length = (compiler.process(clause, **options) for clause in element.clauses)
    beginning = f"substr({text}, 1, {length})"
    return f"CASE WHEN octet_length({text}) <= {length} THEN {text} ELSE {beginning} END"


@compiles(Beginning, "sqlite")
def _in_sqlite(element: Beginning, compiler: SQLCompiler, **options: Any) -> str:
    text, length = (compiler.process(clause, **options) for clause in element.clauses)
    return f"substr({text}, 1, {length})"
