"""Shared transactions of SQLite: threads that wait for the writer commit together.

A commit waits for the disk and writes a page of each index, however many units of work it has.
So a thread whose work is done hands its open transaction to the next waiting thread. The last one
commits, and each continues once its own work is on disk. No thread waits for a timer.

A member sees what earlier members wrote. So no member responds before the commit, not even with
an error. If the transaction fails, all members run again.
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

from app.database.connect import run_on_driver
from app.database.writer_lock import LOCK_SECONDS, waited_too_long

# A transaction with this many members, or this old, is not handed on, as other processes wait.
MAX_MEMBERS = 8
MAX_AGE_SECONDS = 0.02


class SharedTransactionFailed(Exception):
    """The work was rolled back with the work of others, or failed because of it: run it again."""


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

    def accepts_members(self) -> bool:
        """Whether another thread may join."""
        has_room = self.members < MAX_MEMBERS and time.monotonic() < self.expires
        return has_room and self.driver.in_transaction and self.connection.in_transaction()

    def commit(self) -> None:
        root = self.connection.get_transaction()
        if root is not None:
            try:
                root.commit()
            except BaseException:
                root.rollback()
                raise
        self.is_committed = True
        self.exit_stack.close()


@dataclass(slots=True, eq=False)
class _Waiter:
    """A thread that waits to receive a transaction or to open one."""

    woken: threading.Event = field(default_factory=threading.Event)
    received: _Transaction | None = None


class SharedTransactions:
    """The writing transactions of one process; ``begin`` opens one."""

    def __init__(self, begin: Callable[..., AbstractContextManager[Connection]]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._queue: deque[_Waiter] = deque()
        self._is_busy = False

    @contextmanager
    def member(self) -> Iterator[Connection]:
        """Work in a transaction that others may share; returns once it is committed.

        An exception inside rolls back only this work. Raises Unavailable, and
        SharedTransactionFailed.
        """
        transaction = self._enter()
        is_first = transaction.members == 1
        try:
            if not is_first:
                run_on_driver(transaction.connection, "SAVEPOINT member")
            yield transaction.connection
            if not is_first:
                run_on_driver(transaction.connection, "RELEASE member")
        except BaseException as error:
            self._revert(transaction, is_first=is_first)
            if not is_first and isinstance(error, Exception):
                _wait_for_commit(transaction)
            raise
        self._leave(transaction)
        _wait_for_commit(transaction)

    def _enter(self) -> _Transaction:
        waiter, deadline = _Waiter(), time.monotonic() + LOCK_SECONDS
        with self._lock:
            must_wait = self._is_busy
            self._is_busy = True
            if must_wait:
                self._queue.append(waiter)
        if must_wait and not waiter.woken.wait(LOCK_SECONDS):
            with self._lock:
                if waiter in self._queue:
                    self._queue.remove(waiter)
                    raise waited_too_long()
        if waiter.received is not None:
            waiter.received.members += 1
            return waiter.received
        exit_stack = ExitStack()
        try:
            connection = exit_stack.enter_context(self._begin(deadline=deadline))
        except BaseException:
            self._wake_next()
            raise
        driver = connection.connection.dbapi_connection
        return _Transaction(connection, driver, exit_stack, time.monotonic() + MAX_AGE_SECONDS)

    def _leave(self, transaction: _Transaction) -> None:
        """Hand the transaction to the next thread, or commit it."""
        with self._lock:
            if self._queue and transaction.accepts_members():
                follower = self._queue.popleft()
                follower.received = transaction
                follower.woken.set()
                return
        try:
            transaction.commit()
        except Exception:
            # Roll back now, as the error's handler may write. If several threads shared the
            # transaction, each runs again alone.
            self._roll_back(transaction)
            if transaction.members == 1 or transaction.is_committed:
                raise
        finally:
            self._end(transaction)

    def _revert(self, transaction: _Transaction, *, is_first: bool) -> None:
        """Roll back the work of this thread; call it in an ``except``."""
        if is_first:
            try:
                transaction.exit_stack.__exit__(*sys.exc_info())
            finally:
                self._end(transaction)
            return
        try:
            run_on_driver(transaction.connection, "ROLLBACK TO member")
            run_on_driver(transaction.connection, "RELEASE member")
        except Exception:
            # SQLite has rolled back the whole transaction, for example because of a full disk.
            self._roll_back(transaction)
            self._end(transaction)
        else:
            self._leave(transaction)

    def _roll_back(self, transaction: _Transaction) -> None:
        """Roll back a failed transaction; call it in an ``except``. The others run again."""
        with suppress(Exception):
            transaction.exit_stack.__exit__(*sys.exc_info())

    def _end(self, transaction: _Transaction) -> None:
        transaction.is_over.set()
        self._wake_next()

    def _wake_next(self) -> None:
        with self._lock:
            self._is_busy = bool(self._queue)
            if self._queue:
                self._queue.popleft().woken.set()


def _wait_for_commit(transaction: _Transaction) -> None:
    transaction.is_over.wait()
    if not transaction.is_committed:
        raise SharedTransactionFailed
