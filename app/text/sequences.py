"""What two sequences have in common, in bounded time.

Items that occur once in both anchor the rest (patience diff), and what has no anchors is compared
cell by cell only while a budget lasts. Beyond it a stretch counts as replaced: less fine, never
wrong.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Cells of comparison tables that one diff may fill, and that one block may.
CELLS = 1_500_000
BLOCK_CELLS = 250_000
# Of the processor, for one comparison.
SECONDS = 1.0


@dataclass(slots=True)
class WorkBudget:
    """How many cells may still be filled, and until when, by the processor time of this thread."""

    cells: int = CELLS
    ends_at: float = field(default_factory=lambda: time.thread_time() + SECONDS)

    @property
    def is_spent(self) -> bool:
        """Whether the time is over."""
        return time.thread_time() > self.ends_at


@dataclass(frozen=True, slots=True)
class MatchingRun:
    """A stretch of both sequences: the same, or ``old`` replaced by ``new``."""

    same: bool
    old: range
    new: range


def runs(
    old: Sequence[str], new: Sequence[str], budget: WorkBudget | None = None
) -> list[MatchingRun]:
    """The alternating runs that turn ``old`` into ``new``."""
    made: list[MatchingRun] = []
    at_old = at_new = 0
    for start_old, start_new, length in _joined(_matches(old, new, budget or WorkBudget())):
        if start_old > at_old or start_new > at_new:
            made.append(MatchingRun(False, range(at_old, start_old), range(at_new, start_new)))
        at_old, at_new = start_old + length, start_new + length
        made.append(MatchingRun(True, range(start_old, at_old), range(start_new, at_new)))
    if at_old < len(old) or at_new < len(new):
        made.append(MatchingRun(False, range(at_old, len(old)), range(at_new, len(new))))
    return made


def _joined(pairs: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Matches in order, those that touch as one."""
    pairs.sort()
    held: tuple[int, int, int] | None = None
    for start_old, start_new, length in pairs:
        if held and held[0] + held[2] == start_old and held[1] + held[2] == start_new:
            held = (held[0], held[1], held[2] + length)
            continue
        if held:
            yield held
        held = (start_old, start_new, length)
    if held:
        yield held


def _matches(
    old: Sequence[str], new: Sequence[str], budget: WorkBudget
) -> list[tuple[int, int, int]]:
    """Matching stretches as (start in old, start in new, length), in no order."""
    found: list[tuple[int, int, int]] = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        old_from, old_to, new_from, new_to = waiting.pop()
        if budget.is_spent:
            break
        start = (old_from, new_from)
        while old_from < old_to and new_from < new_to and old[old_from] == new[new_from]:
            old_from, new_from = old_from + 1, new_from + 1
        if old_from > start[0]:
            found.append((*start, old_from - start[0]))
        end = old_to
        while old_from < old_to and new_from < new_to and old[old_to - 1] == new[new_to - 1]:
            old_to, new_to = old_to - 1, new_to - 1
        if old_to < end:
            found.append((old_to, new_to, end - old_to))
        if old_from == old_to or new_from == new_to:
            continue
        anchors = _anchors(old, new, (old_from, old_to, new_from, new_to))
        if not anchors:
            found += _compared(old, new, (old_from, old_to, new_from, new_to), budget)
            continue
        for at_old, at_new in anchors:
            found.append((at_old, at_new, 1))
            waiting.append((old_from, at_old, new_from, at_new))
            old_from, new_from = at_old + 1, at_new + 1
        waiting.append((old_from, old_to, new_from, new_to))
    return found


def _anchors(
    old: Sequence[str], new: Sequence[str], bounds: tuple[int, int, int, int]
) -> list[tuple[int, int]]:
    """Items that occur once on both sides, as the longest list whose order is the same on both."""
    old_from, old_to, new_from, new_to = bounds
    counts_old, counts_new = Counter(old[old_from:old_to]), Counter(new[new_from:new_to])
    place = {new[at]: at for at in range(new_from, new_to) if counts_new[new[at]] == 1}
    pairs = [
        (at, place[old[at]])
        for at in range(old_from, old_to)
        if counts_old[old[at]] == 1 and old[at] in place
    ]
    # The longest increasing list of places in new.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, at_new) in enumerate(pairs):
        rank = bisect_left(ends, at_new)
        before.append(last[rank - 1] if rank else -1)
        if rank == len(ends):
            ends.append(at_new)
            last.append(index)
        else:
            ends[rank], last[rank] = at_new, index
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _compared(
    old: Sequence[str],
    new: Sequence[str],
    bounds: tuple[int, int, int, int],
    budget: WorkBudget,
) -> list[tuple[int, int, int]]:
    """The longest common subsequence by table, where the budget allows one."""
    old_from, old_to, new_from, new_to = bounds
    height, width = old_to - old_from, new_to - new_from
    cells = height * width
    if cells > BLOCK_CELLS or cells > budget.cells:
        return []
    budget.cells -= cells
    table = [[0] * (width + 1)]
    for row in range(height - 1, -1, -1):
        below, item = table[-1], old[old_from + row]
        line = [0] * (width + 1)
        for column in range(width - 1, -1, -1):
            if item == new[new_from + column]:
                line[column] = below[column + 1] + 1
            else:
                line[column] = max(below[column], line[column + 1])
        table.append(line)
    table.reverse()
    found = []
    row = column = 0
    while row < height and column < width:
        if old[old_from + row] == new[new_from + column]:
            found.append((old_from + row, new_from + column, 1))
            row, column = row + 1, column + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            row += 1
        else:
            column += 1
    return found
