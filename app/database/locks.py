"""Locks for what no row represents, held until the end of the transaction.

SQLite needs none, because it has one writer at a time.
"""

from enum import IntEnum

from sqlalchemy import func, select

from app.core.clock import now_ms
from app.database.session import is_postgresql, session


class Lock(IntEnum):
    """The keys of PostgreSQL's advisory locks, in one list so that all differ."""

    MIGRATION = 7000
    FIRST_SETUP = 7001
    RELATIONS = 7002
    LAST_ACTIVE_HUMAN = 7003
    # Together with a key of the user (accounts/credential_lock.py).
    CREDENTIALS = 7004
    WIKI_SLUGS = 7005
    OUTBOX = 7006
    SWEEPS = 7007
    INDEX = 7008


def acquire(lock: Lock) -> None:
    """Wait for the lock, and hold it until the transaction ends."""
    if is_postgresql():
        session.execute(select(func.pg_advisory_xact_lock(int(lock))))


def database_ms() -> int:
    """The time of a clock that all processes on this database share, for leases."""
    if is_postgresql():
        epoch = func.extract("epoch", func.clock_timestamp())
        return int(session.execute(select(epoch * 1000)).scalar_one())
    return now_ms()
