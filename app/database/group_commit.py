"""Group commit: concurrent writes of several threads share one transaction.

A commit costs nearly the same for one row as for ten. The first thread leads: while it waits for
the writer lock or for PostgreSQL, other threads queue, and it writes for all of them. No thread
waits for a timer, and each continues once its own write is committed.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.core.errors import Unavailable
from app.database.session import pipeline, run_write

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Entry(Generic[T]):
    """A queued write; its thread wakes when the write is done, or to lead."""

    item: T
    leads: bool = False
    woken: threading.Event = field(default_factory=threading.Event)
    is_written: bool = False
    outage: Unavailable | None = None


class GroupCommit(Generic[T]):
    """One kind of write, grouped over the threads of this process.

    ``write`` writes one item in the current transaction. It may run in any thread, so the item must
    contain all that it needs from the request. ``async_commit`` is as in ``transaction``.
    """

    def __init__(self, write: Callable[[T], object], *, async_commit: bool = False) -> None:
        self._write = write
        self._async_commit = async_commit
        self._guard = threading.Lock()
        self._queue: list[_Entry[T]] = []
        self._is_led = False

    def do(self, item: T) -> None:
        """Write the item and return once it is committed.

        Raises Unavailable, and what ``write`` raises for this item.
        """
        entry = _Entry(item)
        with self._guard:
            self._queue.append(entry)
            entry.leads = not self._is_led
            self._is_led = True
        if not entry.leads:
            entry.woken.wait()
        if entry.leads:
            self._lead()
        if entry.outage is not None:
            raise Unavailable from entry.outage
        if not entry.is_written:
            # Another thread's item may have failed the shared transaction.
            run_write(lambda: self._write(item), async_commit=self._async_commit)

    def _lead(self) -> None:
        """Write for all threads that have queued when the transaction begins, and wake them."""
        taken: list[_Entry[T]] = []

        def write_all() -> None:
            taken.extend(self._take())
            with pipeline():
                for entry in taken:
                    self._write(entry.item)

        is_written, outage = False, None
        try:
            run_write(write_all, async_commit=self._async_commit)
            is_written = True
        except Unavailable as error:
            outage = error
        except Exception:  # noqa: S110 - each thread retries alone and raises its own error
            pass
        finally:
            if not is_written:
                taken += self._take()
            self._wake(taken, is_written=is_written, outage=outage)

    def _take(self) -> list[_Entry[T]]:
        with self._guard:
            taken, self._queue = self._queue, []
        return taken

    def _wake(
        self, taken: list[_Entry[T]], *, is_written: bool, outage: Unavailable | None
    ) -> None:
        """Wake the threads of these entries, and a new leader if others have queued."""
        with self._guard:
            self._is_led = bool(self._queue)
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].woken.set()
        for entry in taken:
            entry.is_written, entry.outage = is_written, outage
            entry.woken.set()
