"""The common parts of two sequences, in bounded time.

Items that are unique in both are anchors (patience diff). Stretches without anchors are compared by
a table, within a budget. Beyond it they count as replaced: coarser, but never wrong.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Table cells for one diff, and for one stretch.
CELLS = 1_500_000
BLOCK_CELLS = 250_000
# Processor time for one diff.
SECONDS = 1.0

# Start in old, start in new, length.
Match = tuple[int, int, int]
# Start and end in old, start and end in new.
Bounds = tuple[int, int, int, int]


@dataclass(slots=True)
class WorkBudget:
    """The table cells and the processor time of this thread that a diff has left."""

    cells: int = CELLS
    ends_at: float = field(default_factory=lambda: time.thread_time() + SECONDS)

    @property
    def is_spent(self) -> bool:
        return time.thread_time() > self.ends_at


@dataclass(frozen=True, slots=True)
class MatchingRun:
    """A stretch of both sequences: equal, or ``old`` replaced by ``new``."""

    same: bool
    old: range
    new: range


def runs(
    old: Sequence[str], new: Sequence[str], budget: WorkBudget | None = None
) -> list[MatchingRun]:
    """The alternating equal and replaced runs that turn ``old`` into ``new``."""
    result: list[MatchingRun] = []
    end_old = end_new = 0
    for start_old, start_new, length in _joined(_matches(old, new, budget or WorkBudget())):
        if start_old > end_old or start_new > end_new:
            result.append(MatchingRun(False, range(end_old, start_old), range(end_new, start_new)))
        end_old, end_new = start_old + length, start_new + length
        result.append(MatchingRun(True, range(start_old, end_old), range(start_new, end_new)))
    if end_old < len(old) or end_new < len(new):
        result.append(MatchingRun(False, range(end_old, len(old)), range(end_new, len(new))))
    return result


def _joined(matches: list[Match]) -> Iterator[Match]:
    """The matches in order, adjacent ones joined."""
    matches.sort()
    pending: Match | None = None
    for start_old, start_new, length in matches:
        if (
            pending
            and pending[0] + pending[2] == start_old
            and pending[1] + pending[2] == start_new
        ):
            pending = (pending[0], pending[1], pending[2] + length)
            continue
        if pending:
            yield pending
        pending = (start_old, start_new, length)
    if pending:
        yield pending


def _matches(old: Sequence[str], new: Sequence[str], budget: WorkBudget) -> list[Match]:
    """The matches, in no order."""
    found: list[Match] = []
    waiting: list[Bounds] = [(0, len(old), 0, len(new))]
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
        for anchor_old, anchor_new in anchors:
            found.append((anchor_old, anchor_new, 1))
            waiting.append((old_from, anchor_old, new_from, anchor_new))
            old_from, new_from = anchor_old + 1, anchor_new + 1
        waiting.append((old_from, old_to, new_from, new_to))
    return found


def _anchors(old: Sequence[str], new: Sequence[str], bounds: Bounds) -> list[tuple[int, int]]:
    """The positions of items that are unique on both sides: the longest chain in the same order."""
    old_from, old_to, new_from, new_to = bounds
    counts_old, counts_new = Counter(old[old_from:old_to]), Counter(new[new_from:new_to])
    in_new = {new[at]: at for at in range(new_from, new_to) if counts_new[new[at]] == 1}
    pairs = [
        (at, in_new[old[at]])
        for at in range(old_from, old_to)
        if counts_old[old[at]] == 1 and old[at] in in_new
    ]
    # The longest increasing subsequence of the positions in new.
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
    old: Sequence[str], new: Sequence[str], bounds: Bounds, budget: WorkBudget
) -> list[Match]:
    """The longest common subsequence by table; empty if the budget does not allow it."""
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
