"""Audit of failed bot credentials, in windows of a minute per client network and token prefix.

The first failure of a window has its own event; all others become one event with a ``count``.
A process writes a row for the first failure that it sees in a window. It counts the others in
memory, and ``record_finished`` adds them to the row.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts.models import FailureWindow
from app.audit.service import Target, record
from app.core.actor import ANONYMOUS
from app.core.clock import MINUTE_MS, now_ms
from app.database.session import is_postgresql, session
from app.http.current import current_application

EVENT = "auth.bot.failure"
# Limits of one minute: further prefixes of a network share a window, and so do further keys.
MAX_PREFIXES = 10
MAX_KEYS = 1000
# Windows that one transaction finishes.
BATCH = 200
# The key of ``app.extensions`` under which the process keeps its windows.
EXTENSION = "docket_failure_windows"

# A network and a token prefix.
Key = tuple[str, str | None]


@dataclass(slots=True)
class _Seen:
    """A window as this process sees it: ``uncounted`` failures are not in its row yet."""

    began_at: int
    uncounted: int = 0


class _Windows:
    """The windows in which this process saw failures."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.seen: dict[Key, _Seen] = {}
        self.prefixes: Counter[str] = Counter()

    def key(self, network: str, prefix: str | None) -> Key:
        """The key of this network and prefix, or a shared one beyond the limits."""
        if (network, prefix) not in self.seen and self.prefixes[network] >= MAX_PREFIXES:
            prefix = None
        if (network, prefix) not in self.seen and len(self.seen) >= MAX_KEYS:
            return "", None
        return network, prefix

    def add(self, key: Key, moment: int) -> None:
        with self.guard:
            if key not in self.seen:
                self.seen[key] = _Seen(moment)
                self.prefixes[key[0]] += 1

    def forget(self, moment: int) -> None:
        """Drop finished windows, except those with failures that ``record_finished`` must add."""
        finished = [
            key
            for key, seen in self.seen.items()
            if not seen.began_at <= moment < seen.began_at + MINUTE_MS and not seen.uncounted
        ]
        for key in finished:
            del self.seen[key]
            self.prefixes[key[0]] -= 1
        self.prefixes += Counter()


def _windows() -> _Windows:
    windows: _Windows = current_application().extensions.setdefault(EXTENSION, _Windows())
    return windows


def claim_of(network: str, prefix: str | None) -> Callable[[], bool] | None:
    """A function that decides, in the transaction of a failure's event, whether to write it.

    None if the process has seen a failure of this window; the new one is then only counted. Only
    the function adds the window, as the request may run again in another lane.
    """
    windows = _windows()
    with windows.guard:
        windows.forget(now_ms())
        key = windows.key(network, prefix)
        known = windows.seen.get(key)
        if known is not None:
            known.uncounted += 1
            return None
    return lambda: _claim(key)


def _hashed(key: Key) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()


def _claim(key: Key) -> bool:
    """Open the window and return True, or count the failure if another process opened it."""
    moment = now_ms()
    _windows().add(key, moment)
    hashed = _hashed(key)
    dialect = postgresql if is_postgresql() else sqlite
    session.execute(
        dialect.insert(FailureWindow)
        .values(key_hash=hashed, token_prefix=key[1], began_at=0, further=0)
        .on_conflict_do_nothing(index_elements=["key_hash"])
    )
    row = session.execute(
        select(FailureWindow.began_at, FailureWindow.further)
        .where(FailureWindow.key_hash == hashed)
        .with_for_update()
    ).one()
    window = update(FailureWindow).where(FailureWindow.key_hash == hashed)
    if row.began_at <= moment < row.began_at + MINUTE_MS:
        session.execute(window.values(further=row.further + 1))
        return False
    _record(key[1], row.further)
    session.execute(window.values(began_at=moment, further=0))
    return True


def record_finished() -> int:
    """Add the counts of this process and record up to BATCH finished windows, in a write."""
    windows = _windows()
    with windows.guard:
        counted = [(key, seen.uncounted) for key, seen in windows.seen.items() if seen.uncounted]
        for key, _ in counted:
            windows.seen[key].uncounted = 0
    for key, number in counted:
        session.execute(
            update(FailureWindow)
            .where(FailureWindow.key_hash == _hashed(key))
            .values(further=FailureWindow.further + number)
        )
    finished = session.execute(
        select(FailureWindow.key_hash, FailureWindow.token_prefix, FailureWindow.further)
        .where(FailureWindow.began_at <= now_ms() - MINUTE_MS)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    ).all()
    for row in finished:
        _record(row.token_prefix, row.further)
    session.execute(
        delete(FailureWindow)
        .where(FailureWindow.key_hash.in_([row.key_hash for row in finished]))
        .execution_options(synchronize_session=False)
    )
    return len(finished)


def _record(prefix: str | None, further: int) -> None:
    if further:
        record(ANONYMOUS, EVENT, Target("user"), token_prefix=prefix, count=further)
