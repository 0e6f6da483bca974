"""Rows of a subquery in one column: what hangs on a row comes along without another query."""

from typing import Any

from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class JsonRows(FunctionElement[Any]):
    """The JSON of a list with a list of these columns for each row; null or empty without rows."""

    type: TypeEngine[Any] = Text()
    inherit_cache = True


@compiles(JsonRows, "sqlite")
def _on_sqlite(element: JsonRows, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"


@compiles(JsonRows, "postgresql")
def _on_postgresql(element: JsonRows, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_agg(json_build_array({compiler.process(element.clauses, **options)}))::text"
