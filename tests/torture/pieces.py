"""A long run in equal pieces: how fast and how big the server was in each, and what grew."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.torture.mixed_load import Seen

# When, in seconds; MiB, file descriptors and threads of all processes together; milliseconds of the
# work that is always the same.
Sample = tuple[float, float, int, int, float]
# What clients saw of one request (``mixed_load.Seen``).
Answered = tuple[float, float, str]
T = TypeVar("T")
PIECES = 6
# A p99 of fewer answers than this is the slowest of them.
ENOUGH = 100
MINUTE_SECONDS = 60.0
# What the last piece may take more than the first: answers over a database that has grown, memory
# of caches that have filled.
SLOWER_MEDIAN, SLOWER_TAIL, MORE_MEMORY, MORE_MIB = 1.5, 2.0, 1.10, 16.0
MORE_HANDLES = 8


@dataclass(frozen=True)
class Piece:
    """A part of the time: answers a second, their milliseconds, and how big the server was."""

    per_second: float
    median: float
    # The p99 of its minute in the middle.
    tail: float
    tails: dict[str, float]
    mebibytes: float
    files: int
    threads: int
    machine: float


def pieces(seen: Seen, sizes: list[Sample], seconds: float) -> list[Piece]:
    """The time in PIECES equal parts."""
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
    """The p99 of each group that has enough of them."""
    groups: dict[T, list[float]] = {}
    for one in answers:
        groups.setdefault(group(one), []).append(one[1])
    return {
        name: statistics.quantiles(took, n=100)[98]
        for name, took in groups.items()
        if len(took) >= ENOUGH
    }


def judge(first: Piece, last: Piece) -> list[str]:
    """What grew that should not have."""
    slower = max(1.0, last.machine / first.machine)
    grown = {
        "median": last.median > first.median * slower * SLOWER_MEDIAN,
        "p99": last.tail > first.tail * slower * SLOWER_TAIL,
        "memory": last.mebibytes > first.mebibytes * MORE_MEMORY + MORE_MIB,
        "file descriptors": last.files > first.files + MORE_HANDLES,
        "threads": last.threads > first.threads + MORE_HANDLES,
    }
    return [what for what, is_so in grown.items() if is_so]
