"""How long a piece of work takes, whatever else the machine does."""

import gc
import time
from collections.abc import Callable
from typing import Any

# What a million additions take on a machine of the speed for which limits are set.
ORDINARY_SECONDS = 0.03


def slowness() -> float:
    """How many times slower than such a machine this one is at the moment: 1 to 2."""
    best = min(_seconds_of_additions() for _ in range(3))
    return min(max(1.0, best / ORDINARY_SECONDS), 2.0)


def _seconds_of_additions() -> float:
    total, began = 0, time.thread_time()
    for number in range(1_000_000):
        total += number
    return time.thread_time() - began


def processor_seconds(work: Callable[[int], Any], enough: float) -> float:
    """Seconds of the processor, the fastest of five times; less than ``enough`` needs no other.

    As in the server, the collector passes over what was there before: here, other tests'. The work
    is told how often it was done, since a text that was seen may come out of a cache.
    """
    gc.freeze()
    try:
        best = float("inf")
        for number in range(5):
            began = time.thread_time()
            work(number)
            best = min(best, time.thread_time() - began)
            if best < enough:
                break
        return best
    finally:
        gc.unfreeze()
