"""Divide a long run into equal pieces: speed and size of the server in each, and what grew."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.torture.mixed_load import Seen

# Time in seconds; MiB, file descriptors and threads of all processes together; milliseconds of the
# fixed piece of work.
Sample = tuple[float, float, int, int, float]
# What clients saw of one request (``mixed_load.Seen``).
Answered = tuple[float, float, str]
T = TypeVar("T")
PIECES = 6
# With fewer answers than this, the p99 is just the slowest one.
ENOUGH = 100
MINUTE_SECONDS = 60.0
# Allowed growth from the first piece to the last: answers over a database that has grown, memory of
# caches that have filled.
SLOWER_MEDIAN, SLOWER_TAIL, MORE_MEMORY, MORE_MIB = 1.5, 2.0, 1.10, 16.0
MORE_HANDLES = 8


@dataclass(frozen=True)
class Piece:
    """A part of the run: answers a second, their milliseconds, and the size of the server."""

    per_second: float
    median: float
    # The median of the p99s of its minutes.
    tail: float
    tails: dict[str, float]
    mebibytes: float
    files: int
    threads: int
    machine: float


def pieces(seen: Seen, sizes: list[Sample], seconds: float) -> list[Piece]:
    """Divide the run into PIECES equal parts."""
    length = seconds / PIECES
    found = []
    for number in range(PIECES):
        answers = [one for one in seen.answers if int(one[0] / length) == number]
        big = [one for one in sizes if int(one[0] / length) == number]
        by_minute, by_name = (
            _p99(answers, lambda one: int(one[0] / MINUTE_SECONDS)),
            _p99(answers, lambda one: one[2]),
        )
        found.append(
            Piece(
                len(answers) / length,
                statistics.median(ms for _, ms, _ in answers),
                statistics.median(by_minute.values()),
                by_name,
                max(one[1] for one in big),
                max(one[2] for one in big),
                max(one[3] for one in big),
                statistics.median(one[4] for one in big),
            )
        )
    return found


def _p99(answers: list[Answered], group: Callable[[Answered], T]) -> dict[T, float]:
    """Return the p99 of each group that has enough answers."""
    groups: dict[T, list[float]] = {}
    for one in answers:
        groups.setdefault(group(one), []).append(one[1])
    return {
        name: statistics.quantiles(took, n=100)[98]
        for name, took in groups.items()
        if len(took) >= ENOUGH
    }


def judge(first: Piece, last: Piece) -> list[str]:
    """List what grew but should not have."""
    slower = max(1.0, last.machine / first.machine)
    grown = {
        "median": last.median > first.median * slower * SLOWER_MEDIAN,
        "p99": last.tail > first.tail * slower * SLOWER_TAIL,
        "memory": last.mebibytes > first.mebibytes * MORE_MEMORY + MORE_MIB,
        "file descriptors": last.files > first.files + MORE_HANDLES,
        "threads": last.threads > first.threads + MORE_HANDLES,
    }
    return [what for what, is_so in grown.items() if is_so]
