"""Three-way merge of texts, line by line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.text import normalize_newlines
from app.text import messages
from app.text.sequences import runs

MINE = messages.YOUR_TEXT
BETWEEN = "======="
THEIRS = messages.SAVED_TEXT

Lines = tuple[str, ...]


class Keep(StrEnum):
    """How to resolve a place that both changed; BOTH keeps them in the order of saving."""

    MINE = "mine"
    THEIRS = "theirs"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """The lines of a place that both changed."""

    mine: Lines
    theirs: Lines

    @property
    def marked(self) -> Lines:
        """Both versions between marks, for a person to resolve."""
        return (MINE, *self.mine, BETWEEN, *self.theirs, THEIRS)

    def kept(self, keep: Keep) -> Lines:
        return {
            Keep.MINE: self.mine,
            Keep.THEIRS: self.theirs,
            Keep.BOTH: self.theirs + self.mine,
        }[keep]


@dataclass(frozen=True, slots=True)
class Merged:
    """Two texts in one: lines without a conflict, and the conflicts between them."""

    parts: tuple[Lines | MergeConflict, ...]

    @property
    def places(self) -> list[MergeConflict]:
        return [part for part in self.parts if isinstance(part, MergeConflict)]

    @property
    def conflicts(self) -> int:
        """The number of conflicts."""
        return len(self.places)

    @property
    def text(self) -> str:
        """The text with both changes; conflicts are marked."""
        return "\n".join(
            line
            for part in self.parts
            for line in (part.marked if isinstance(part, MergeConflict) else part)
        )

    def resolved(self, keeps: Iterable[Keep]) -> str:
        """The text with a choice for each conflict, in their order."""
        choices = iter(keeps)
        return "\n".join(
            line
            for part in self.parts
            for line in (part.kept(next(choices)) if isinstance(part, MergeConflict) else part)
        )


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge two texts that were changed from the same base."""
    lines, my_lines, their_lines = (
        normalize_newlines(text).split("\n") for text in (base, mine, theirs)
    )
    in_mine, in_theirs = _positions(lines, my_lines), _positions(lines, their_lines)
    # The positions of lines that all three texts have, and their ends.
    common = [
        (line, in_mine[line], in_theirs[line])
        for line in range(len(lines))
        if line in in_mine and line in in_theirs
    ]
    common.append((len(lines), len(my_lines), len(their_lines)))
    parts: list[Lines | MergeConflict] = []
    agreed: list[str] = []
    start = (0, 0, 0)
    for end in common:
        before = lines[start[0] : end[0]]
        mine_here = my_lines[start[1] : end[1]]
        theirs_here = their_lines[start[2] : end[2]]
        if theirs_here in (before, mine_here):
            agreed += mine_here
        elif mine_here == before:
            agreed += theirs_here
        else:
            parts += [tuple(agreed), MergeConflict(tuple(mine_here), tuple(theirs_here))]
            agreed = []
        if end[0] < len(lines):
            agreed.append(lines[end[0]])
        start = (end[0] + 1, end[1] + 1, end[2] + 1)
    parts.append(tuple(agreed))
    return Merged(tuple(part for part in parts if part))


def _positions(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """For each unchanged line of ``base``, its position in ``other``."""
    return {
        old: new
        for run in runs(base, other)
        if run.same
        for old, new in zip(run.old, run.new, strict=True)
    }
