"""Locks without a row: of a transaction, and of the server on a SQLite file."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from sqlalchemy import Text, func, literal, select

from app.core.clock import now_ms
from app.database.session import is_postgresql, session


class Lock(IntEnum):
    """The keys of PostgreSQL advisory locks, in one list so that they differ."""

    MIGRATION = 7000
    FIRST_SETUP = 7001
    RELATIONS = 7002
    LAST_ACTIVE_HUMAN = 7003
    # Combined with a key of the user (accounts/credentials.py).
    CREDENTIALS = 7004
    WIKI_SLUGS = 7005
    OUTBOX = 7006
    SWEEPS = 7007
    INDEX = 7008
    REWIND = 7009
    CODE_DELIVERIES = 7010
    MAIL = 7011
    FILES = 7012
    IDENTITIES = 7014
    # Combined with what a logout at the provider names (sign_on/logout.py).
    PROVIDER_LOGOUTS = 7015


def acquire(lock: Lock, key: str | None = None) -> None:
    """Wait for the lock, or for its part with this key, and hold it until the transaction ends.

    SQLite needs no such lock, because it has one writer at a time.
    """
    if is_postgresql():
        part = () if key is None else (func.hashtext(literal(key, Text)),)
        session.execute(select(func.pg_advisory_xact_lock(int(lock), *part)))


def database_ms() -> int:
    """The time in milliseconds by a clock that all processes on this database share."""
    if is_postgresql():
        epoch = func.extract("epoch", func.clock_timestamp())
        return int(session.execute(select(epoch * 1000)).scalar_one())
    return now_ms()


class ServerRuns(Exception):
    """Another process serves this database; ``process`` is its id, or ``unknown``."""

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


@contextmanager
def sole_use_of(database: Path | None, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a SQLite file; raises ServerRuns after ``patience`` seconds.

    A server's workers share the lock with their parent, so it is free once the last of them ends. A
    database that is not a file has no such lock.
    """
    if database is None:
        yield
        return
    with Path(f"{database}.server").open("a+") as lock:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.seek(0)
                    raise ServerRuns(lock.read().strip() or "unknown") from None
                time.sleep(0.1)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
