"""Shared transactions of SQLite: threads that wait for the writer commit together.

A commit waits for the disk and writes a page of each index, as long for one unit of work as for
four. So a thread whose work is done hands its open transaction to the next thread that waits. The
last one commits, and each continues once its own work is on disk. No thread waits for a timer.
"""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from app.core.errors import Unavailable
from app.database.writer_lock import LOCK_SECONDS

# Other processes wait meanwhile.
MOST_MEMBERS = 8
LONGEST_SECONDS = 0.02


class SharedTransactionFailed(Exception):
    """The work was rolled back with that of another thread, and can run again alone."""


@dataclass(slots=True, eq=False)
class _Transaction:
    """An open transaction, used by one thread at a time."""

    connection: Connection
    driver: Any
    exit_stack: ExitStack
    expires: float
    members: int = 1
    is_over: threading.Event = field(default_factory=threading.Event)
    is_committed: bool = False

    def has_room(self) -> bool:
        return self.members < MOST_MEMBERS and time.monotonic() < self.expires


@dataclass(slots=True, eq=False)
class _Waiter:
    """A thread that waits: it gets a transaction, or opens one, or shares an outage."""

    woken: threading.Event = field(default_factory=threading.Event)
    received: _Transaction | None = None
    outage: Unavailable | None = None


class SharedTransactions:
    """The writing transactions of one process, which ``begin`` opens."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._begin = begin
        self._guard = threading.Lock()
        self._queue: deque[_Waiter] = deque()
        self._is_busy = False

    @contextmanager
    def member(self) -> Iterator[Connection]:
        """Work in a transaction that others may share; returns once it is committed.

        An exception inside rolls back this work only. Raises Unavailable, and
        SharedTransactionFailed if the work must run again.
        """
        transaction = self._enter()
        is_alone = transaction.members == 1
        try:
            if not is_alone:
                transaction.driver.execute("SAVEPOINT member")
            yield transaction.connection
            if not is_alone:
                transaction.driver.execute("RELEASE member")
        except BaseException:
            self._revert(transaction, is_alone=is_alone)
            raise
        self._leave(transaction)
        transaction.is_over.wait()
        if not transaction.is_committed:
            raise SharedTransactionFailed

    def _enter(self) -> _Transaction:
        waiter = _Waiter()
        with self._guard:
            must_wait = self._is_busy
            self._is_busy = True
            if must_wait:
                self._queue.append(waiter)
        if must_wait and not waiter.woken.wait(LOCK_SECONDS):
            with self._guard:
                if waiter in self._queue:
                    self._queue.remove(waiter)
                    raise Unavailable
        if waiter.outage is not None:
            raise Unavailable from waiter.outage
        if waiter.received is not None:
            waiter.received.members += 1
            return waiter.received
        exit_stack = ExitStack()
        try:
            connection = exit_stack.enter_context(self._begin())
        except Unavailable as outage:
            with self._guard:
                waiting, self._queue = self._queue, deque()
                self._is_busy = False
                for other in waiting:
                    other.outage = outage
                    other.woken.set()
            raise
        except BaseException:
            self._wake_next()
            raise
        driver = connection.connection.dbapi_connection
        return _Transaction(connection, driver, exit_stack, time.monotonic() + LONGEST_SECONDS)

    def _leave(self, transaction: _Transaction) -> None:
        """Hand the transaction to the next thread, or commit it."""
        with self._guard:
            if self._queue and transaction.has_room():
                follower = self._queue.popleft()
                follower.received = transaction
                follower.woken.set()
                return
        try:
            transaction.exit_stack.close()
            transaction.is_committed = True
        finally:
            self._end(transaction)

    def _revert(self, transaction: _Transaction, *, is_alone: bool) -> None:
        """Roll back the work of this thread, in an ``except``."""
        is_reverted = False
        if not is_alone:
            # Impossible where SQLite rolled back the whole transaction, as for a full disk.
            with suppress(Exception):
                transaction.driver.execute("ROLLBACK TO member")
                transaction.driver.execute("RELEASE member")
                is_reverted = True
        if is_reverted:
            self._leave(transaction)
            return
        try:
            transaction.exit_stack.__exit__(*sys.exc_info())
        finally:
            self._end(transaction)

    def _end(self, transaction: _Transaction) -> None:
        transaction.is_over.set()
        self._wake_next()

    def _wake_next(self) -> None:
        with self._guard:
            self._is_busy = bool(self._queue)
            if self._queue:
                self._queue.popleft().woken.set()
