"""Running sweepers: in small transactions, one run at a time over all processes."""

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.audit.service import Target, record
from app.config import Settings
from app.core.actor import SYSTEM
from app.core.clock import MINUTE_MS
from app.database.locks import Lock, database_ms, hold
from app.database.session import run_write, session
from app.jobs.models import SweeperLease
from app.jobs.sweepers import BATCH, SWEEPERS

INTERVAL_MINUTES = 60
# A run that is silent for so long has died.
LEASE_MS = 5 * MINUTE_MS
PAUSE_SECONDS = 0.02
# Of several processes with the same schedule one runs; the others find that it just did.
JUST_NOW_MS = INTERVAL_MINUTES * MINUTE_MS // 2


@dataclass(frozen=True, slots=True)
class Swept:
    """What a run deleted."""

    sweeper: str
    deleted: int


def sweep(
    name: str,
    settings: Settings,
    *,
    now: bool = False,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Swept | None:
    """Run a sweeper to its end and record ``system.sweeper_ran``; None where another runs it.

    Also None where it just ran, unless it is to run ``now``. A run that may not go on ends after
    its batch. Opens its own units of work.
    """
    owner = f"{os.getpid()}-{secrets.token_hex(8)}"
    if not run_write(lambda: _take_lease(name, owner, now=now)):
        return None
    started = time.monotonic()
    deleted = 0
    try:
        while (count := run_write(lambda: _batch(name, owner, settings))) is not None:
            deleted += count
            if count < BATCH or not may_go_on():
                break
            # Whoever waits to write goes first.
            time.sleep(PAUSE_SECONDS)
    finally:
        took = round((time.monotonic() - started) * 1000)
        run_write(lambda: _give_back(name, owner, deleted, took))
    return Swept(name, deleted)


def _batch(name: str, owner: str, settings: Settings) -> int | None:
    """Delete a batch and prolong the lease; None where it was lost: no two go on at once."""
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is None or lease.owner != owner:
        return None
    lease.lease_until = database_ms() + LEASE_MS
    session.flush()
    return SWEEPERS[name].batch(settings)


def _take_lease(name: str, owner: str, *, now: bool) -> bool:
    hold(Lock.SWEEPS)
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is None:
        lease = SweeperLease(sweeper=name, lease_until=0)
        session.add(lease)
    # Once the row is ours: a run that ended while we waited for it did not end after this moment.
    moment = database_ms()
    # What lies farther ahead than it can was written before the database's clock was set back.
    if moment < lease.lease_until <= moment + 2 * LEASE_MS:
        return False
    just_ran = lease.last_run_at is not None and 0 <= moment - lease.last_run_at < JUST_NOW_MS
    if just_ran and not now:
        return False
    lease.owner, lease.lease_until = owner, moment + LEASE_MS
    session.flush()
    return True


def _give_back(name: str, owner: str, deleted: int, took: int) -> None:
    lease = session.get(SweeperLease, name, with_for_update=True)
    if lease is not None and lease.owner == owner:
        lease.owner, lease.lease_until, lease.last_run_at = None, 0, database_ms()
        session.flush()
    record(
        SYSTEM,
        "system.sweeper_ran",
        Target("sweeper"),
        sweeper=name,
        deleted=deleted,
        duration_ms=took,
    )
