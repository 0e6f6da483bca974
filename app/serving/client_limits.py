"""Limits for one client address at a time: slow uploads, unread responses, failed requests."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from app.core.errors import DomainError, RateLimited, Unavailable

SLOW_UPLOADS = 32
# The most files that one client address sends at a time.
FILES_AT_ONCE = 8
# The most files that all clients of a worker send at a time: the disk holds them before a
# credential is checked.
FILES_OF_ALL = 64
RETRY_SECONDS = 60
UNREAD_BYTES = 32 * 1024 * 1024
# The time that a client has to take the next piece of a response.
UNREAD_SECONDS = 30.0

# The failures per minute and address that are answered without delay.
FREE_FAILURES = 60
# The most addresses whose failures are counted.
FAILING_ADDRESSES = 10_000
MAX_DELAY_SECONDS = 5.0
LOOPBACK = ("127.", "::/")


class ClientLimits:
    """The counts of one worker, by client address; only the event loop uses them."""

    def __init__(self) -> None:
        self._slow_uploads: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._failures_since = 0.0

    @contextmanager
    def slow_upload(self, client: str) -> Iterator[None]:
        """Count a slow upload; raises RateLimited if the client has too many."""
        with _count(self._slow_uploads, client, 1, SLOW_UPLOADS, RateLimited(RETRY_SECONDS)):
            yield

    @contextmanager
    def file_upload(self, client: str) -> Iterator[None]:
        """Count a file that is being received.

        Raises RateLimited if the client has too many, Unavailable if all clients together do.
        """
        if self._files.total() >= FILES_OF_ALL:
            raise Unavailable
        with _count(self._files, client, 1, FILES_AT_ONCE, RateLimited(RETRY_SECONDS)):
            yield

    @contextmanager
    def unread(self, client: str, size: int) -> Iterator[None]:
        """Count bytes that wait for the client; raises Unavailable if there are too many."""
        with _count(self._unread, client, size, UNREAD_BYTES, Unavailable()):
            yield

    def failure_delay(self, client: str) -> float:
        """Count a failure; returns the delay of its response in seconds, which grows each time."""
        now = time.monotonic()
        if now - self._failures_since > 60 or len(self._failures) >= FAILING_ADDRESSES:
            self._failures.clear()
            self._failures_since = now
        self._failures[client] += 1
        surplus = self._failures[client] - FREE_FAILURES
        if surplus <= 0 or client.startswith(LOOPBACK):
            return 0.0
        return min(surplus * 0.02, MAX_DELAY_SECONDS)


@contextmanager
def _count(
    counts: Counter[str], client: str, amount: int, limit: int, error: DomainError
) -> Iterator[None]:
    """Add ``amount`` for the duration of the block; raises ``error`` over the limit."""
    if counts[client] + amount > limit:
        raise error
    counts[client] += amount
    try:
        yield
    finally:
        counts[client] -= amount
        if counts[client] <= 0:
            del counts[client]
