"""Three-way merge of texts, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.text import unified
from app.text.sequences import runs

MINE = "<<<<<<< Your text"
BETWEEN = "======="
THEIRS = ">>>>>>> The saved text"


@dataclass(frozen=True, slots=True)
class Merged:
    """The text with both changes, and the number of conflicts.

    A conflict has both versions between markers, for a person to resolve.
    """

    text: str
    conflicts: int


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge two texts that were changed from the same base."""
    lines, my_lines, their_lines = (unified(text).split("\n") for text in (base, mine, theirs))
    in_mine, in_theirs = _positions(lines, my_lines), _positions(lines, their_lines)
    # The positions of lines that all three texts have, and their ends.
    common = [
        (line, in_mine[line], in_theirs[line])
        for line in range(len(lines))
        if line in in_mine and line in in_theirs
    ]
    common.append((len(lines), len(my_lines), len(their_lines)))
    merged: list[str] = []
    conflicts = 0
    start = (0, 0, 0)
    for end in common:
        before = lines[start[0] : end[0]]
        mine_here = my_lines[start[1] : end[1]]
        theirs_here = their_lines[start[2] : end[2]]
        if theirs_here in (before, mine_here):
            merged += mine_here
        elif mine_here == before:
            merged += theirs_here
        else:
            conflicts += 1
            merged += [MINE, *mine_here, BETWEEN, *theirs_here, THEIRS]
        if end[0] < len(lines):
            merged.append(lines[end[0]])
        start = (end[0] + 1, end[1] + 1, end[2] + 1)
    return Merged("\n".join(merged), conflicts)


def _positions(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """For each unchanged line of ``base``, its position in ``other``."""
    return {
        old: new
        for run in runs(base, other)
        if run.same
        for old, new in zip(run.old, run.new, strict=True)
    }
