"""Writes that many threads ask for at the same time, done in one transaction.

What a commit costs is nearly the same for one row as for ten. Whoever comes first leads: while it
waits for the writer lock, or for PostgreSQL, others come, and it writes for all of them. No thread
waits for a timer, and each goes on when its own write is committed.

Where only the answer of a request has to wait for its write, its thread does not: if somebody else
is writing, it leaves its item to the next that leads here, which often is itself, with its next
request; or else to ``app/settling.py``.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from flask import Flask

from app.core.at_hand import application
from app.core.calls import uncalled
from app.core.context import stepping_aside
from app.core.db import in_one_go, run_write
from app.core.errors import Unavailable
from app.core.held import hold
from app.core.writer_lock import WriterBusy

# Of one kind, so many at a time are left to others; whoever comes then waits with its thread, and
# with it those who would come after.
MOST_LEFT = 32

log = logging.getLogger(__name__)

T = TypeVar("T")
Writing = Callable[[], None]


def _nobody() -> None:
    """For an item whose thread does not wait, and whose answer is not held back yet."""


@dataclass(slots=True, eq=False)
class _Waiting(Generic[T]):
    """Something to write; who waits for it is called once it is over, or to lead before."""

    item: T
    call: Callable[[], object] = _nobody
    can_lead: bool = False
    leads: bool = False
    is_over: bool = False
    is_written: bool = False
    outage: Unavailable | None = None


class Gathering(Generic[T]):
    """One kind of write to one application's database, gathered over the threads of this process.

    ``write`` writes one item in the transaction at hand, in any thread: all it needs to know of the
    request is in the item. Whether the commits are ``hasty`` is as in ``db.transaction``.
    """

    def __init__(self, write: Callable[[T], object], *, hasty: bool = False) -> None:
        self._write = write
        self._hasty = hasty
        self._guard = threading.Lock()
        self._waiting: list[_Waiting[T]] = []
        self._is_led = False
        self._application: Flask | None = None

    def do(self, item: T) -> None:
        """Write the item; returns when it is committed.

        Raises Unavailable, and what ``write`` raises for this item.
        """
        called = uncalled()
        mine = _Waiting(item, called.release, can_lead=True)
        mine.leads = self._add(mine)
        # Nobody waits for the turn of whoever leads: it comes after all have been called.
        with stepping_aside() as step:
            if not mine.leads:
                step()
                called.acquire()
            if mine.leads:
                self._lead(waits=True)
        self._hear(mine)

    def before_answer(self, item: T, guarded: Callable[[Writing], None]) -> None:
        """Write the item, or have it written before the answer to the request at hand goes out.

        ``guarded`` is called with what is left to be done for it, now or later, in any thread: that
        does nothing, or raises as ``do``, of which ``guarded`` lets nothing through.
        """
        holds_back = hold.get()
        if holds_back is None or len(self._waiting) >= MOST_LEFT:
            guarded(lambda: self.do(item))
            return
        self._application = application()
        mine = _Waiting(item)
        if self._add(mine) and self._lead(waits=False):
            guarded(partial(self._hear, mine))
            return
        held = holds_back(self)

        def end() -> None:
            try:
                if mine.outage is None:
                    guarded(partial(self._hear, mine))
            finally:
                held.done()
            if mine.outage is not None:
                # Nothing is written, and to say so may take as long again.
                guarded(partial(self._hear, mine))

        with self._guard:
            mine.call = end
            is_over = mine.is_over
        if is_over:
            end()

    def settle(self, within: Callable[[], AbstractContextManager[None]], *, waits: bool) -> bool:
        """Write what was left, as ``held.Settles`` says."""
        if not self._waiting or self._application is None:
            return True
        if self._is_led:
            return False
        with within(), self._application.app_context():
            with self._guard:
                if self._is_led or not self._waiting:
                    return not self._waiting
                self._is_led = True
            return self._lead(waits=waits)

    def _add(self, mine: _Waiting[T]) -> bool:
        """Put it with those that wait; whether it is to lead."""
        with self._guard:
            self._waiting.append(mine)
            leads = not self._is_led
            self._is_led = True
            return leads

    def _hear(self, mine: _Waiting[T]) -> None:
        """How it went; raises as ``do``."""
        if mine.outage is not None:
            raise Unavailable from mine.outage
        if not mine.is_written:
            # Another's item may have spoiled the transaction of all.
            run_write(lambda: self._write(mine.item), hasty=self._hasty)

    def _lead(self, *, waits: bool) -> bool:
        """Write for all who wait once the transaction has begun, and call them.

        False where another writes, and it does not wait.
        """
        taken: list[_Waiting[T]] = []

        def write_all() -> None:
            taken.extend(self._take())
            with in_one_go():
                for one in taken:
                    self._write(one.item)

        is_written, is_busy, outage = False, False, None
        with stepping_aside():
            try:
                run_write(write_all, hasty=self._hasty, waits=waits)
                is_written = True
            except WriterBusy:
                is_busy = True
            except Unavailable as error:
                outage = error
            except Exception:  # noqa: S110 - each tries alone, and hears its own
                pass
            finally:
                if not is_written and not is_busy:
                    taken += self._take()
                self._tell(taken, is_written=is_written, outage=outage)
        return not is_busy

    def _take(self) -> list[_Waiting[T]]:
        with self._guard:
            taken, self._waiting = self._waiting, []
        return taken

    def _tell(
        self, taken: list[_Waiting[T]], *, is_written: bool, outage: Unavailable | None
    ) -> None:
        """Call those for whom it is over, and the first of those who came too late to lead."""
        with self._guard:
            for one in taken:
                one.is_written, one.outage, one.is_over = is_written, outage, True
            ends = [one.call for one in taken if not one.can_lead]
            called = [one.call for one in taken if one.can_lead]
            late = next((one for one in self._waiting if one.can_lead), None)
            self._is_led = late is not None
            if late is not None:
                late.leads = True
                called.append(late.call)
        _call_all(called)
        if outage is None:
            _call_all(ends)
        elif ends:
            # Each may wait for the database once more, which others must not wait for.
            threading.Thread(target=_call_all, args=(ends,), daemon=True).start()


def _call_all(calls: list[Callable[[], object]]) -> None:
    """Call each, whatever comes of the others: somebody waits for it."""
    for call in calls:
        try:
            call()
        except Exception:
            log.exception("what waited for a write could not go on")
