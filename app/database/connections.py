"""Connections for units of work that read: the last ones are reused without the pool.

The pool's checkout and checkin would take a quarter of a short request.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event

from app.database.connect import SEEN, for_reading, is_alive

# More than two units rarely read at once, and the pool needs its connections.
MOST_KEPT = 2

_adding = threading.Lock()
_kept: WeakKeyDictionary[Engine, list[Connection]] = WeakKeyDictionary()


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """A connection for reading; after an exception it goes back to the pool."""
    connection = _acquire(engine)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    _release(engine, connection)


def _acquire(engine: Engine) -> Connection:
    kept = _kept.get(engine)
    while kept:
        try:
            connection = kept.pop()
        except IndexError:
            # Another thread took the last one.
            break
        if is_alive(engine, connection.connection.dbapi_connection, connection.info):
            return connection
        connection.invalidate()
        connection.close()
    return for_reading(engine.connect())


def _release(engine: Engine, connection: Connection) -> None:
    kept = _kept.get(engine)
    if kept is None:
        kept = _kept.setdefault(engine, [])
        event.listen(engine, "engine_disposed", _discard_all)
    if connection.invalidated or connection.in_transaction():
        connection.close()
        return
    driver: Any = connection.connection.dbapi_connection
    if engine.dialect.name == "sqlite" and driver.in_transaction:
        # A compiled statement began it, which SQLAlchemy's connection does not know.
        driver.rollback()
    connection.info[SEEN] = time.monotonic()
    with _adding:
        has_room = len(kept) < MOST_KEPT
        if has_room:
            kept.append(connection)
    if not has_room:
        connection.close()


def _discard_all(engine: Engine) -> None:
    """Keep no connection of a disposed engine: a fork must not share any."""
    kept = _kept[engine]
    while kept:
        connection = kept.pop()
        connection.invalidate()
        connection.close()
