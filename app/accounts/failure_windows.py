"""Failed credentials on record: the first of a client address and token prefix in a minute.

The rest of that minute is one further row with their ``count``. A process writes to the database
for the first failure that it sees in a window; the others it only counts, and adds its count later.
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
from app.http.current import application

EVENT = "auth.bot.failure"
# Of one address so many prefixes have windows of their own in a minute, and so many keys in all;
# further ones share one.
MOST_PREFIXES = 10
MOST_KEYS = 1000
# Windows that are told of in one transaction.
BATCH = 200


@dataclass(slots=True)
class _Seen:
    """What this process saw of a window since it began there."""

    began_at: int
    uncounted: int = 0


Key = tuple[str, str | None]
# Where the application keeps what this process saw.
EXTENSION = "docket_failure_windows"


class _Windows:
    """The windows that this process saw failures in."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.seen: dict[Key, _Seen] = {}
        self.prefixes: Counter[str] = Counter()

    def key(self, network: str, prefix: str | None) -> Key:
        """The window of this address and prefix, or one that it shares."""
        if (network, prefix) not in self.seen and self.prefixes[network] >= MOST_PREFIXES:
            prefix = None
        if (network, prefix) not in self.seen and len(self.seen) >= MOST_KEYS:
            return "", None
        return network, prefix

    def see(self, key: Key, moment: int) -> None:
        """Note the window; it may be noted already."""
        with self.guard:
            if key not in self.seen:
                self.seen[key] = _Seen(moment)
                self.prefixes[key[0]] += 1

    def forget(self, moment: int) -> None:
        """Let go of windows that are over and counted; those that are not wait for ``tell``."""
        over = [
            key
            for key, seen in self.seen.items()
            if not seen.began_at <= moment < seen.began_at + MINUTE_MS and not seen.uncounted
        ]
        for key in over:
            del self.seen[key]
            self.prefixes[key[0]] -= 1
        self.prefixes += Counter()


def _windows() -> _Windows:
    found: _Windows = application().extensions.setdefault(EXTENSION, _Windows())
    return found


def claim_of(network: str, prefix: str | None) -> Callable[[], bool] | None:
    """For a failure: what says, in the transaction of its row, whether that is to be written.

    None where this process knows that it is not; the failure is counted then. Until the window is
    opened nothing is noted, as the request may be answered anew in another lane.
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
    """Open the window, unless another process has; that one's failure counts here."""
    moment = now_ms()
    _windows().see(key, moment)
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
    if row.further:
        _tell(key[1], row.further)
    session.execute(window.values(began_at=moment, further=0))
    return True


def tell() -> int:
    """Add what this process counted, and write the row of each window that is over.

    In a writing unit of work; at most BATCH windows at a time. Gives how many were told of.
    """
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
    over = session.execute(
        select(FailureWindow.key_hash, FailureWindow.token_prefix, FailureWindow.further)
        .where(FailureWindow.began_at <= now_ms() - MINUTE_MS)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    ).all()
    for row in over:
        if row.further:
            _tell(row.token_prefix, row.further)
    session.execute(
        delete(FailureWindow)
        .where(FailureWindow.key_hash.in_([row.key_hash for row in over]))
        .execution_options(synchronize_session=False)
    )
    return len(over)


def _tell(prefix: str | None, count: int) -> None:
    record(ANONYMOUS, EVENT, Target("user"), token_prefix=prefix, count=count)
