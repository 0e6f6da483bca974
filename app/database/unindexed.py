"""Columns that SQLite is kept from looking up by index: it takes the first that fits, not the best.

PostgreSQL knows how often values occur and chooses by that.
"""

from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class Unindexed(FunctionElement[Any]):
    """A column that no index is used for."""

    inherit_cache = True


@compiles(Unindexed)
def _as_it_is(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(Unindexed, "sqlite")
def _behind_a_plus(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"
