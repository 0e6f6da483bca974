"""Locks that no row stands for, held until the end of the transaction.

SQLite needs none: there is one writer at a time.
"""

from enum import IntEnum

from sqlalchemy import func, select

from app.core.clock import now_ms
from app.database.session import is_postgresql, session


class Lock(IntEnum):
    """The keys of PostgreSQL's advisory locks; one list, so that no two meanings share a key."""

    MIGRATION = 7000
    FIRST_SETUP = 7001
    RELATIONS = 7002
    LAST_ACTIVE_HUMAN = 7003
    # With a user's key beside it (accounts/credential_lock.py).
    CREDENTIALS = 7004
    WIKI_SLUGS = 7005
    OUTBOX = 7006
    SWEEPS = 7007
    INDEX = 7008


def acquire(lock: Lock) -> None:
    """Wait for this lock and keep it until the transaction ends."""
    if is_postgresql():
        session.execute(select(func.pg_advisory_xact_lock(int(lock))))


def database_ms() -> int:
    """The time by the clock that all processes on this database share, for leases."""
    if is_postgresql():
        epoch = func.extract("epoch", func.clock_timestamp())
        return int(session.execute(select(epoch * 1000)).scalar_one())
    return now_ms()
