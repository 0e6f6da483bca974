"""What changed between two texts: lines first, then the words inside the lines that changed.

Linear enough for the longest page (``sequences``).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.core.text import unified
from app.text.sequences import MatchingRun, WorkBudget, runs

# Words of a changed block, on either side, above which only whole lines are marked.
WORDS = 20_000
# Below this share of words in common, marks inside lines would only be noise.
ALIKE = 0.25
# Unchanged lines shown around a change.
AROUND = 3

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line with its number, as pieces of which some changed."""

    number: int
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """Lines that stayed (``old`` and ``new`` differ in their numbers alone) or changed."""

    same: bool
    old: tuple[DiffLine, ...] = ()
    new: tuple[DiffLine, ...] = ()
    # Unchanged lines that are left out: far from any change.
    folded: int = 0


@dataclass(slots=True)
class Diff:
    """The blocks from top to bottom, and how many lines came and went."""

    blocks: list[DiffBlock] = field(default_factory=list)
    added: int = 0
    removed: int = 0


def compare(old: str, new: str) -> Diff:
    """The diff of two texts."""
    before, after = _lines(old), _lines(new)
    made = Diff()
    every = runs(before, after, WorkBudget())
    # The words have a budget of their own; what is beyond it is marked by lines.
    budget = WorkBudget()
    for index, run in enumerate(every):
        if run.same:
            made.blocks += _kept(before, run, index == 0, index == len(every) - 1)
            continue
        made.removed += len(run.old)
        made.added += len(run.new)
        removed = "\n".join(before[at] for at in run.old)
        added = "\n".join(after[at] for at in run.new)
        marked = _marked(removed, added, budget) if run.old and run.new else None
        old_pieces, new_pieces = marked or ([(removed, True)], [(added, True)])
        made.blocks.append(
            DiffBlock(
                False,
                _numbered(old_pieces, run.old) if run.old else (),
                _numbered(new_pieces, run.new) if run.new else (),
            )
        )
    return made


def _lines(text: str) -> list[str]:
    """The lines of a text; an empty text has none, and a last line break makes no line."""
    lines = unified(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _kept(lines: list[str], run: MatchingRun, first: bool, last: bool) -> Iterator[DiffBlock]:
    """Unchanged lines: a few at each change, the rest folded away."""
    head = 0 if first else AROUND
    tail = 0 if last else AROUND
    length = len(run.old)

    def part(start: int, end: int) -> DiffBlock:
        return DiffBlock(
            True,
            tuple(
                DiffLine(run.old[at] + 1, ((lines[run.old[at]], False),))
                for at in range(start, end)
            ),
            tuple(DiffLine(run.new[at] + 1, ()) for at in range(start, end)),
        )

    # One line folded would take as much room as itself.
    if length <= head + tail + 1:
        yield part(0, length)
        return
    if head:
        yield part(0, head)
    yield DiffBlock(True, folded=length - head - tail)
    if tail:
        yield part(length - tail, length)


Pieces = list[tuple[str, bool]]


def _marked(removed: str, added: str, budget: WorkBudget) -> tuple[Pieces, Pieces] | None:
    """Both texts with their changed words marked; None where they have too little in common."""
    if budget.is_spent:
        return None
    old, new = _WORD.findall(removed), _WORD.findall(added)
    if len(old) > WORDS or len(new) > WORDS:
        return None
    found = runs(old, new, budget)
    common = sum(len(old[at]) for run in found if run.same for at in run.old if old[at].strip())
    longest = max(sum(map(len, "".join(words).split())) for words in (old, new))
    if common < ALIKE * longest:
        return None
    old_pieces: Pieces = []
    new_pieces: Pieces = []
    for index, run in enumerate(found):
        before, after = "".join(old[at] for at in run.old), "".join(new[at] for at in run.new)
        # A lone blank between two changes reads better as part of them.
        between = 0 < index < len(found) - 1 and before.isspace() and "\n" not in before
        changed = not run.same or between
        old_pieces.append((before, changed))
        new_pieces.append((after, changed))
    return old_pieces, new_pieces


def _numbered(pieces: Pieces, numbers: range) -> tuple[DiffLine, ...]:
    """Pieces cut into lines, those that touch and are alike as one."""
    lines: list[list[tuple[str, bool]]] = [[]]
    for text, changed in pieces:
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append([])
            if not part:
                continue
            line = lines[-1]
            if line and line[-1][1] == changed:
                line[-1] = (line[-1][0] + part, changed)
            else:
                line.append((part, changed))
    return tuple(
        DiffLine(number + 1, tuple(line)) for number, line in zip(numbers, lines, strict=True)
    )
