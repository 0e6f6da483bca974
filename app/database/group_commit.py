"""Group commit: writes that many threads ask for at the same time, done in one transaction.

What a commit costs is nearly the same for one row as for ten. Whoever comes first leads: while it
waits for the writer lock, or for PostgreSQL, others come, and it writes for all of them. No thread
waits for a timer, and each goes on when its own write is committed.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.core.errors import Unavailable
from app.database.session import pipeline, run_write

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Waiting(Generic[T]):
    """Something to write; its thread is woken once it is over, or to lead before."""

    item: T
    leads: bool = False
    woken: threading.Event = field(default_factory=threading.Event)
    is_written: bool = False
    outage: Unavailable | None = None


class GroupCommit(Generic[T]):
    """One kind of write to one application's database, gathered over the threads of this process.

    ``write`` writes one item in the transaction at hand, in any thread: all it needs to know of the
    request is in the item. ``async_commit`` is as in ``db.transaction``.
    """

    def __init__(self, write: Callable[[T], object], *, async_commit: bool = False) -> None:
        self._write = write
        self._async_commit = async_commit
        self._guard = threading.Lock()
        self._waiting: list[_Waiting[T]] = []
        self._is_led = False

    def do(self, item: T) -> None:
        """Write the item; returns when it is committed.

        Raises Unavailable, and what ``write`` raises for this item.
        """
        mine = _Waiting(item)
        with self._guard:
            self._waiting.append(mine)
            mine.leads = not self._is_led
            self._is_led = True
        if not mine.leads:
            mine.woken.wait()
        if mine.leads:
            self._lead()
        if mine.outage is not None:
            raise Unavailable from mine.outage
        if not mine.is_written:
            # Another's item may have spoiled the transaction of all.
            run_write(lambda: self._write(item), async_commit=self._async_commit)

    def _lead(self) -> None:
        """Write for all who wait once the transaction has begun, and wake them."""
        taken: list[_Waiting[T]] = []

        def write_all() -> None:
            taken.extend(self._take())
            with pipeline():
                for one in taken:
                    self._write(one.item)

        is_written, outage = False, None
        try:
            run_write(write_all, async_commit=self._async_commit)
            is_written = True
        except Unavailable as error:
            outage = error
        except Exception:  # noqa: S110 - each tries alone, and hears its own
            pass
        finally:
            if not is_written:
                taken += self._take()
            self._wake(taken, is_written=is_written, outage=outage)

    def _take(self) -> list[_Waiting[T]]:
        with self._guard:
            taken, self._waiting = self._waiting, []
        return taken

    def _wake(
        self, taken: list[_Waiting[T]], *, is_written: bool, outage: Unavailable | None
    ) -> None:
        """Wake those for whom it is over, and the first of those who came too late to lead."""
        with self._guard:
            self._is_led = bool(self._waiting)
            if self._waiting:
                late = self._waiting[0]
                late.leads = True
                late.woken.set()
        for one in taken:
            one.is_written, one.outage = is_written, outage
            one.woken.set()
