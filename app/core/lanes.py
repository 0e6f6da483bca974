"""Where a request is answered: on the event loop, in a thread, or in a thread for long work.

A read of SQLite waits for nothing, so the event loop answers it without a change of threads. Code
that may wait says so by ``require``. Where the lane at hand does not allow that, the request is
answered anew in the lane that does, so ``require`` comes before anything that cannot be repeated.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from typing import TypeVar

T = TypeVar("T")

# Threads of a process for long work.
LONG_THREADS = 8

# A rule whose request held the event loop for so long is answered by threads for a minute.
LONGEST_ON_LOOP_SECONDS = 0.05
OFF_LOOP_SECONDS = 60.0


class Lane(IntEnum):
    """The lanes, each allowing what those before it do."""

    # On the event loop, which must not wait.
    LOOP = 0
    # In one of THREADS threads: may wait for the database, for a few seconds.
    POOL = 1
    # In one of the threads for exports, imports and other servers.
    LONG = 2


class LaneRequired(BaseException):
    """The request goes on in this lane; not an Exception, so that nothing handles it on the way."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self.lane = lane


# Outside the server anything may wait.
_lane: ContextVar[Lane] = ContextVar("lane", default=Lane.LONG)
# The rule of the request on the event loop, and until when rules stay off it (time.monotonic).
_rule: ContextVar[str] = ContextVar("rule", default="")
_off_loop: dict[str, float] = {}


def require(lane: Lane) -> None:
    """Go on in this lane at least; raises LaneRequired."""
    if _lane.get() < lane:
        raise LaneRequired(lane)


def enter_rule(rule: str) -> None:
    """Note the URL rule of the request at hand; raises LaneRequired where it is off the loop."""
    if _lane.get() is not Lane.LOOP:
        return
    until = _off_loop.get(rule)
    if until is not None and time.monotonic() < until:
        raise LaneRequired(Lane.POOL)
    _rule.set(rule)


def run(lane: Lane, work: Callable[[], T]) -> T:
    """Do ``work`` in this lane; raises LaneRequired where it belongs elsewhere."""
    token = _lane.set(lane)
    began = time.monotonic()
    try:
        return work()
    finally:
        _lane.reset(token)
        ended = time.monotonic()
        if lane is Lane.LOOP and ended - began > LONGEST_ON_LOOP_SECONDS:
            # The keys are the rules of the URL map, so there are only so many.
            _off_loop[_rule.get()] = ended + OFF_LOOP_SECONDS
