"""Where one text stands in another, as both databases tell it; SQLAlchemy has no name for both."""

from typing import Any

from sqlalchemy import Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class Position(FunctionElement[int]):
    """``Position(text, part)``: where the part begins, counted from 1; 0 where it is not there."""

    inherit_cache = True
    type = Integer()


@compiles(Position)
def _in_postgres(element: Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


@compiles(Position, "sqlite")
def _in_sqlite(element: Position, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)})"
