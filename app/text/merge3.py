"""Putting two changes of one text together, line by line."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.text import unified
from app.text.sequences import runs

MINE = "<<<<<<< Your text"
BETWEEN = "======="
THEIRS = ">>>>>>> The saved text"


@dataclass(frozen=True, slots=True)
class Merged:
    """The text with both changes, and how often both changed the same place.

    Such a place holds both versions between marks, so nothing is lost; a person settles it.
    """

    text: str
    conflicts: int


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge two descendants of one text."""
    lines, my_lines, their_lines = (unified(text).split("\n") for text in (base, mine, theirs))
    my_place, their_place = _positions(lines, my_lines), _positions(lines, their_lines)
    # Lines that all three have: between them, changes stand alone or against each other.
    common = [
        (at, my_place[at], their_place[at])
        for at in range(len(lines))
        if at in my_place and at in their_place
    ]
    common.append((len(lines), len(my_lines), len(their_lines)))
    made: list[str] = []
    conflicts = 0
    start = (0, 0, 0)
    for here in common:
        was, me, them = (
            found[begin:end]
            for found, begin, end in zip((lines, my_lines, their_lines), start, here, strict=True)
        )
        if them in (was, me):
            made += me
        elif me == was:
            made += them
        else:
            conflicts += 1
            made += [MINE, *me, BETWEEN, *them, THEIRS]
        if here[0] < len(lines):
            made.append(lines[here[0]])
        start = (here[0] + 1, here[1] + 1, here[2] + 1)
    return Merged("\n".join(made), conflicts)


def _positions(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Where each line of ``base`` that stayed stands in ``other``."""
    return {
        old: new
        for run in runs(base, other)
        if run.same
        for old, new in zip(run.old, run.new, strict=True)
    }
