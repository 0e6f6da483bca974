"""The diff of two texts: by lines, then by words inside changed lines. In bounded time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.core.text import normalize_newlines
from app.text.sequences import MatchingRun, WorkBudget, runs

# Changed blocks with more words on either side are marked by whole lines.
WORDS = 20_000
# So are blocks with a smaller share of common words, because marks would only be noise.
MIN_SIMILARITY = 0.25
# The number of unchanged lines shown around a change.
AROUND = 3

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")

# Stretches of text, each with whether it changed.
Pieces = list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line with its number, as pieces with whether each changed."""

    number: int
    pieces: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """Changed lines, or unchanged ones, which then differ only in their numbers."""

    same: bool
    old: tuple[DiffLine, ...] = ()
    new: tuple[DiffLine, ...] = ()
    # The number of unchanged lines that are left out here.
    folded: int = 0


@dataclass(slots=True)
class Diff:
    """The blocks from top to bottom, and the numbers of added and removed lines."""

    blocks: list[DiffBlock] = field(default_factory=list)
    added: int = 0
    removed: int = 0


def compare(old: str, new: str) -> Diff:
    before, after = _lines(old), _lines(new)
    diff = Diff()
    line_runs = runs(before, after, WorkBudget())
    # Words have a separate budget; beyond it, whole lines are marked.
    budget = WorkBudget()
    for index, run in enumerate(line_runs):
        if run.same:
            diff.blocks += _unchanged(before, run, index == 0, index == len(line_runs) - 1)
            continue
        diff.removed += len(run.old)
        diff.added += len(run.new)
        removed = "\n".join(before[run.old.start : run.old.stop])
        added = "\n".join(after[run.new.start : run.new.stop])
        marked = _marked(removed, added, budget) if run.old and run.new else None
        old_pieces, new_pieces = marked or ([(removed, True)], [(added, True)])
        diff.blocks.append(
            DiffBlock(
                False,
                _numbered(old_pieces, run.old) if run.old else (),
                _numbered(new_pieces, run.new) if run.new else (),
            )
        )
    return diff


def _lines(text: str) -> list[str]:
    """The lines of a text. An empty text has none, and a final line break starts none."""
    lines = normalize_newlines(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _unchanged(lines: list[str], run: MatchingRun, first: bool, last: bool) -> Iterator[DiffBlock]:
    """The unchanged lines next to changes, the others folded."""
    head = 0 if first else AROUND
    tail = 0 if last else AROUND
    length = len(run.old)

    def block(start: int, end: int) -> DiffBlock:
        return DiffBlock(
            True,
            tuple(DiffLine(line + 1, ((lines[line], False),)) for line in run.old[start:end]),
            tuple(DiffLine(line + 1, ()) for line in run.new[start:end]),
        )

    # Folding a single line would save no space.
    if length <= head + tail + 1:
        yield block(0, length)
        return
    if head:
        yield block(0, head)
    yield DiffBlock(True, folded=length - head - tail)
    if tail:
        yield block(length - tail, length)


def _marked(removed: str, added: str, budget: WorkBudget) -> tuple[Pieces, Pieces] | None:
    """Both texts with their changed words marked; None if only whole lines can be marked."""
    if budget.is_spent:
        return None
    old, new = _WORD.findall(removed), _WORD.findall(added)
    if len(old) > WORDS or len(new) > WORDS:
        return None
    word_runs = runs(old, new, budget)
    common = sum(len(old[at]) for run in word_runs if run.same for at in run.old if old[at].strip())
    longest = max(sum(map(len, "".join(words).split())) for words in (old, new))
    if common < MIN_SIMILARITY * longest:
        return None
    old_pieces: Pieces = []
    new_pieces: Pieces = []
    for index, run in enumerate(word_runs):
        before = "".join(old[run.old.start : run.old.stop])
        after = "".join(new[run.new.start : run.new.stop])
        # A lone space between two changes reads better as part of them.
        is_between = 0 < index < len(word_runs) - 1 and before.isspace() and "\n" not in before
        changed = not run.same or is_between
        old_pieces.append((before, changed))
        new_pieces.append((after, changed))
    return old_pieces, new_pieces


def _numbered(pieces: Pieces, numbers: range) -> tuple[DiffLine, ...]:
    """Pieces cut into lines; adjacent pieces with the same flag are joined."""
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
