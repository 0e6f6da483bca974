"""Lanes: where a request runs.

A read from SQLite does not block, so it runs on the event loop without switching threads. Code
that may block calls ``require``. If the current lane does not allow that, the request starts again
in a lane that does. So call ``require`` before anything that must not run twice.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from typing import TypeVar

T = TypeVar("T")

# Threads for long work, in each process.
LONG_THREADS = 8

# If a request holds the event loop longer, its URL rule runs in threads for OFF_LOOP_SECONDS.
MAX_LOOP_SECONDS = 0.05
OFF_LOOP_SECONDS = 60.0


class Lane(IntEnum):
    """Each lane allows what the lanes before it allow."""

    # The event loop, which must not block.
    LOOP = 0
    # One of THREADS threads, which may wait a few seconds for the database.
    POOL = 1
    # One of LONG_THREADS threads, for exports, imports and requests to other servers.
    LONG = 2


class LaneRequired(BaseException):
    """The request must run in this lane. A BaseException, so that no ``except`` stops it."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self.lane = lane


# Outside the server all code may block.
_lane: ContextVar[Lane] = ContextVar("lane", default=Lane.LONG)
# The URL rule of the request on the event loop, and, by rule, the time (time.monotonic) until
# which it stays off the loop.
_rule: ContextVar[str] = ContextVar("rule", default="")
_off_loop: dict[str, float] = {}


def current() -> Lane:
    """The lane of the running code."""
    return _lane.get()


def require(lane: Lane) -> None:
    """Raise LaneRequired if the current lane does not allow what ``lane`` does."""
    if _lane.get() < lane:
        raise LaneRequired(lane)


def enter_rule(rule: str) -> None:
    """Note the URL rule of the current request; raises LaneRequired if it is off the loop."""
    if _lane.get() is not Lane.LOOP:
        return
    until = _off_loop.get(rule)
    if until is not None and time.monotonic() < until:
        raise LaneRequired(Lane.POOL)
    _rule.set(rule)


def run(lane: Lane, work: Callable[[], T]) -> T:
    """Run ``work`` in this lane; raises LaneRequired if it needs another one."""
    token = _lane.set(lane)
    started = time.monotonic()
    try:
        return work()
    finally:
        _lane.reset(token)
        ended = time.monotonic()
        if lane is Lane.LOOP and ended - started > MAX_LOOP_SECONDS:
            # The dictionary is bounded, as its keys are rules of the URL map.
            _off_loop[_rule.get()] = ended + OFF_LOOP_SECONDS
