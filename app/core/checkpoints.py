"""When SQLite's write-ahead log is copied into the database: every so many commits, not at each.

By itself SQLite copies at every commit once the log has a thousand pages; and where somebody always
reads, as in a server, the log does not begin anew for long. Each commit then waited for the disk
three times instead of once. Copying is done under the writer lock, as all writing is.
"""

import logging
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

log = logging.getLogger("docket.database")

# A commit of one ticket is some fifty pages, its place in the search index included.
COMMITS = 32
# Of the log's growth, where one commit writes much.
MOST_BYTES = 16 * 2**20

_guard = threading.Lock()
_since: dict[str, tuple[int, int]] = {}


def after_commit(engine: Engine) -> None:
    """Count a commit, and copy the log where it is time; only under the writer lock."""
    path = engine.url.database
    if engine.dialect.name != "sqlite" or not path:
        return
    with _guard:
        commits, before = _since.get(path, (0, 0))
        commits += 1
        size = _size(path)
        # A log that began anew is as long as it was, and shorter once it was cut.
        _since[path] = (commits, min(before, size))
    if commits >= COMMITS or size - before > MOST_BYTES:
        copy_now(engine)


def copy_now(engine: Engine) -> None:
    """Copy what no reader needs in the log any more; what fails is logged, and tried again."""
    path = engine.url.database or ""
    try:
        _copy(engine)
    except (sqlite3.Error, SQLAlchemyError) as error:
        log.warning("the write-ahead log could not be copied: %s", error)
    with _guard:
        _since[path] = (0, _size(path))


def _copy(engine: Engine) -> None:
    with closing(engine.raw_connection()) as connection:
        connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _size(path: str) -> int:
    with suppress(OSError):
        return Path(f"{path}-wal").stat().st_size
    return 0
