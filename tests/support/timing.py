"""Measure how long work takes, independent of other load on the machine."""

import gc
import time
from collections.abc import Callable
from typing import Any

# The time of a million additions on a machine of the speed that limits are set for.
ORDINARY_SECONDS = 0.03


def slowness() -> float:
    """Return how many times slower this machine is than that one at the moment: 1 to 2."""
    best = min(_seconds_of_additions() for _ in range(3))
    return min(max(1.0, best / ORDINARY_SECONDS), 2.0)


def _seconds_of_additions() -> float:
    total, began = 0, time.thread_time()
    for number in range(1_000_000):
        total += number
    return time.thread_time() - began


def processor_seconds(work: Callable[[int], Any], enough: float) -> float:
    """Return the fastest of five runs in processor seconds; stops early below ``enough``.

    As in the server, the garbage collector skips older objects, here those of other tests. The work
    receives the number of its run, since a repeated text may come from a cache.
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
