"""Connections that were just used, kept at hand for the next unit of work.

Handing a connection to the pool and taking it out again costs a tenth of a short request. What is
older than a moment goes to the pool, which knows how to find out whether it still lives.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event

from app.core.engines import FRESH_SECONDS, HASTY, USED, WRITES

# More than two at once are rarely reading, and others may want those of the pool.
MOST_KEPT = 2

log = logging.getLogger(__name__)

# What a unit of work of the request at hand left as it is, for the next one.
_left: ContextVar[tuple[Engine, Connection] | None] = ContextVar("left", default=None)

_keeping = threading.Lock()
_kept: WeakKeyDictionary[Engine, list[tuple[Connection, float]]] = WeakKeyDictionary()


def borrowed(engine: Engine) -> Connection:
    """A connection: the one that was used last, if that was a moment ago."""
    kept = _kept.get(engine)
    while kept:
        try:
            connection, since = kept.pop()
        except IndexError:
            # Another thread was quicker.
            break
        if time.monotonic() - since < FRESH_SECONDS:
            return connection
        # The pool asks whether it still lives, as it was used then and not now.
        connection.info[USED] = since
        connection.close()
    return engine.connect()


def leave(engine: Engine, connection: Connection) -> None:
    """Keep the connection of a unit of work that only read, as it is, for ``taken_up``.

    Only where somebody sees to ``end_left``, as each request does at its end.
    """
    end_left()
    _left.set((engine, connection))


def taken_up(engine: Engine) -> Connection:
    """The connection that the unit of work before left, or another."""
    left = _left.get()
    if left is not None and left[0] is engine:
        _left.set(None)
        return left[1]
    return borrowed(engine)


def end_left() -> None:
    """End what was left and not taken up."""
    left = _left.get()
    if left is not None:
        _left.set(None)
        give_back(*left)


@contextmanager
def lent(engine: Engine) -> Iterator[Connection]:
    """A connection for one that writes; after it failed it goes to the pool, as in ``reading``."""
    connection = borrowed(engine)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    give_back(engine, connection)


def give_back(engine: Engine, connection: Connection) -> None:
    """Keep a connection in which nothing is open; others go to the pool. Never raises."""
    try:
        _keep(engine, connection)
    except Exception:
        # What was read has been read; only the connection is of no more use.
        log.exception("a connection could not be kept")
        with suppress(Exception):
            connection.invalidate()
            connection.close()


def _keep(engine: Engine, connection: Connection) -> None:
    kept = _kept.get(engine)
    if kept is None:
        kept = _kept.setdefault(engine, [])
        if not event.contains(engine, "engine_disposed", _let_go):
            event.listen(engine, "engine_disposed", _let_go)
    if _has_nothing_open(connection):
        with _keeping:
            if len(kept) < MOST_KEPT:
                kept.append((connection, time.monotonic()))
                return
    connection.close()


def _has_nothing_open(connection: Connection) -> bool:
    """Whether no transaction is left in it; one that only read on SQLite is ended here."""
    if connection.invalidated or connection.in_transaction():
        return False
    driver: Any = connection.connection.dbapi_connection
    if connection.dialect.name != "sqlite":
        # What began a transaction left more behind, which the pool's way back undoes (engines.py).
        return bool(driver.autocommit)
    if driver.in_transaction:
        driver.rollback()
    if connection.get_execution_options().get(WRITES):
        connection.execution_options(**{WRITES: False, HASTY: False})
    return True


def _let_go(engine: Engine) -> None:
    """Keep none of an engine that gives up all its connections."""
    for connection, _ in _kept.pop(engine, []):
        # A process that is about to fork must have none open.
        connection.invalidate()
        connection.close()
