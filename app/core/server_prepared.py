"""Statements that PostgreSQL keeps ready, run straight on its own library.

psycopg turns the values and the rows; what its cursors do besides for each run, and the many turns
in which they receive a large answer, take longer than most of our statements. Within a pipeline of
psycopg's, its cursors run everything.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from psycopg import OperationalError
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from sqlalchemy import Connection

Found = TypeVar("Found")

# Statements that a connection keeps ready, as many as psycopg would.
MOST_KEPT = 100

_READY = "docket_ready_statements"
# A parameter by its name, and a sign that stands for itself, as SQLAlchemy writes them for psycopg.
_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
_IS_KEPT = b"SELECT 1 FROM pg_prepared_statements WHERE name = $1"
_DONE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


def numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """A statement of named parameters with numbers instead, and their names in that order."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        return "%" if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _PARAMETER.sub(number, sql).encode(), tuple(numbers)


class ReadyStatements:
    """Those of one connection."""

    def __init__(self, driver: Any) -> None:
        """It has none yet."""
        self._driver = driver
        self._pgconn = driver.pgconn
        self._turner = Transformer(driver)
        self._names: OrderedDict[tuple[bytes, tuple[int, ...] | None], bytes] = OrderedDict()
        self._made = 0
        self._is_doubtful = False

    def run(self, sql: bytes, values: list[Any], row: Any, *, begins: bool) -> list[Any]:
        """The rows of a statement, in a transaction if it ``begins`` one that is not open yet.

        Raises psycopg's errors.
        """
        turner = self._turner
        if begins and self._is_idle:
            self._checked(self._pgconn.exec_(b"BEGIN ISOLATION LEVEL READ COMMITTED"))
        if self._is_doubtful:
            self._look()
        turned = turner.dump_sequence(values, [PyFormat.AUTO] * len(values))
        found = self._again_if_forgotten(lambda: self._found(sql, turned))
        return self._rows(found, row)

    def _rows(self, found: Any, row: Any) -> list[Any]:
        if not found.nfields:
            return []
        self._turner.set_pgresult(found)
        rows: list[Any] = self._turner.load_rows(0, found.ntuples, row)
        return rows

    def _again_if_forgotten(self, find: Callable[[], Found]) -> Found:
        try:
            return find()
        except InvalidSqlStatementName:
            self._names.clear()
            if not self._is_idle:
                # What was begun is spoilt; it runs anew (``failures.is_retryable``).
                raise
            return find()

    @property
    def _is_idle(self) -> bool:
        return bool(self._pgconn.transaction_status == TransactionStatus.IDLE)

    def _found(self, sql: bytes, turned: Any) -> Any:
        name = self._name(sql, self._turner.types)
        return self._checked(self._pgconn.exec_prepared(name, turned, self._turner.formats))

    def doubt(self) -> None:
        """See whether the server still has them before one is run: somebody may have had it forget
        them all, as psycopg does where a savepoint fails, if it has prepared any itself.
        """
        self._is_doubtful = True

    def _look(self) -> None:
        self._is_doubtful = False
        one = next(iter(self._names.values()), None)
        if one is not None and not self._checked(self._pgconn.exec_params(_IS_KEPT, [one])).ntuples:
            self._names.clear()

    def _name(self, sql: bytes, types: tuple[int, ...] | None) -> bytes:
        key = (sql, types)
        name = self._names.get(key)
        if name is not None:
            self._names.move_to_end(key)
            return name
        self._made += 1
        name = b"docket_%d" % self._made
        self._checked(self._pgconn.prepare(name, sql, types))
        self._names[key] = name
        if len(self._names) > MOST_KEPT:
            _, oldest = self._names.popitem(last=False)
            self._checked(self._pgconn.close_prepared(oldest))
        return name

    def _checked(self, result: Any) -> Any:
        if result.status in _DONE:
            return result
        if self._pgconn.status == ConnStatus.BAD:
            # It may have ended without a word, and then the error has no class of its own.
            raise OperationalError(result.get_error_message())
        raise error_from_result(result)


def ready_statements(connection: Connection) -> ReadyStatements:
    """The statements that the server keeps ready for this connection."""
    kept = connection.info.get(_READY)
    if kept is None:
        driver = connection.connection.dbapi_connection
        kept = connection.info[_READY] = ReadyStatements(driver)
    found: ReadyStatements = kept
    return found
