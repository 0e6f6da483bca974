"""Where in a text the words of a query stand, and the piece of a body that shows them best.

What matches here is what matches in the index: the same folding, words and stems. Matches are spans
beside the text, never marks in it, so no text can pass for a match.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, islice

from app.search.parsing import Part, Query
from app.search.stemming import stem
from app.search.words import LONGEST, Run, composed, folded, is_picture

LENGTH = 200
# How far the piece begins before its first match.
BEFORE = 50
# No more matches than these are weighed, of each part of the query and in all.
WEIGHED = 100
WEIGHED_IN_ALL = 400

Span = tuple[int, int]

_LETTERS = r"[^\W_]*"
_STARTS = r"(?<![^\W_])"
_ENDS = r"(?![^\W_])"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of plain text, and the spans of its matches in code points."""

    text: str
    highlights: list[Span]


@dataclass(frozen=True, slots=True)
class _Matcher:
    """Finds one part of a query in folded text."""

    pattern: re.Pattern[str]
    # The pattern finds too much where a stem is looked for: which one, or how a word may begin.
    stem: str | None = None
    beginning: str | None = None

    def fits(self, word: str) -> bool:
        if self.stem is None or (self.beginning and word.startswith(self.beginning)):
            return True
        return stem(word[:LONGEST]) == self.stem


class Highlighter:
    """Marks one query in any number of texts."""

    def __init__(self, query: Query) -> None:
        self._matchers = [_matcher(part) for part in query.wanted]

    def spans(self, text: str) -> list[Span]:
        """The matches in a composed text (``words.composed``), in order and apart."""
        apart: list[Span] = []
        for start, end, _ in self._matches(text):
            if apart and start <= apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            else:
                apart.append((start, end))
        return apart

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """The text cut into what matches (true) and what does not, for a template."""
        whole = composed(text)
        found: list[tuple[str, bool]] = []
        at = 0
        for start, end in self.spans(whole):
            found += [(whole[at:start], False), (whole[start:end], True)]
            at = end
        found.append((whole[at:], False))
        return [piece for piece in found if piece[0]]

    def snippet(self, body: str) -> Snippet:
        """The piece of the body with the most parts of the query, as one line of text."""
        text = composed(body)
        before, piece, after = _cut(text, _best_start(self._matches(text)))
        spans = [(start + len(before), end + len(before)) for start, end in self.spans(piece)]
        return Snippet(before + piece + after, spans)

    def _matches(self, text: str) -> list[tuple[int, int, int]]:
        """(start, end, number of the part) of the matches, in order."""
        plain, original = _folded_with_offsets(text)
        found: list[tuple[int, int, int]] = []
        for number, matcher in enumerate(self._matchers):
            matches = (
                (*original(match.start(), match.end()), number)
                for match in matcher.pattern.finditer(plain)
                if matcher.fits(match.group())
            )
            found += islice(matches, min(WEIGHED, WEIGHED_IN_ALL - len(found)))
        return sorted(found)


def _matcher(part: Part) -> _Matcher:
    if len(part.runs) > 1 or part.runs[0].is_unspaced or part.is_quoted:
        return _Matcher(re.compile(_phrase(part)))
    word = part.runs[0].text[:LONGEST]
    if is_picture(word):
        return _Matcher(re.compile(re.escape(word)))
    wanted = stem(word)
    # Endings change at most the last letter of what becomes the stem, but for a few exceptions.
    common = wanted[:-1] if len(wanted) > 2 else wanted
    starts = [common] if word.startswith(common) else [common, word]
    beginning = word if part.is_open else None
    return _Matcher(
        re.compile(f"(?:{'|'.join(map(_starting, starts))}){_LETTERS}"), wanted, beginning
    )


def _starting(letters: str) -> str:
    """The letters where a word begins; a search is quicker for letters than for what is before."""
    return f"{re.escape(letters)}(?<![^\\W_]{re.escape(letters)})"


def _phrase(part: Part) -> str:
    """The runs of a part, with anything that is no letter between them."""
    pattern = ""
    before: Run | None = None
    for run in part.runs:
        if before is not None:
            loose = before.is_unspaced or run.is_unspaced
            pattern += r"[\W_]*" if loose else r"[\W_]+"
        pattern += re.escape(run.text[:LONGEST] if not run.is_unspaced else run.text)
        before = run
    first, last = part.runs[0], part.runs[-1]
    starts = "" if first.is_unspaced or is_picture(first.text) else _STARTS
    if last.is_unspaced or is_picture(last.text):
        return starts + pattern
    return starts + pattern + (_LETTERS if part.is_open else _ENDS)


def _folded_with_offsets(text: str) -> tuple[str, Callable[[int, int], Span]]:
    """The folded text, and how a span of it becomes one of the text."""
    if text.isascii() or all(len(folded(character)) == 1 for character in set(text)):
        return folded(text), lambda start, end: (start, end)
    lengths = [len(folded(character)) for character in text]
    starts = [0, *accumulate(lengths)]

    def original(start: int, end: int) -> Span:
        return bisect_right(starts, start) - 1, bisect_left(starts, end)

    return folded(text), original


def _best_start(matches: list[tuple[int, int, int]]) -> int:
    """Where the stretch with the most parts of the query begins; the first one of several."""
    best, most = 0, 0
    for at, (start, _, _) in enumerate(matches):
        limit = start + LENGTH - BEFORE
        parts = {part for _, end, part in islice(matches, at, at + WEIGHED) if end <= limit} or {
            matches[at][2]
        }
        if len(parts) > most:
            best, most = start, len(parts)
    return best


def _cut(text: str, match: int) -> tuple[str, str, str]:
    """About ``LENGTH`` characters around a match, cut between words, white space made one blank.

    Before and behind them stands what says that there is more.
    """
    start = 0
    if match > BEFORE:
        start = match - BEFORE
        blank = re.search(r"\s", text[start:match])
        start += blank.end() if blank else 0
    # What stands before it is not looked at, and white space can be as long as the text.
    raw = text[start : start + 20 * LENGTH]
    piece = " ".join(raw.split())
    is_cut = len(piece) > LENGTH or start + len(raw) < len(text.rstrip())
    if len(piece) > LENGTH:
        shorter = piece[:LENGTH]
        space = shorter.rfind(" ")
        piece = shorter[:space] if space > LENGTH * 2 // 3 else shorter
    return "…" if start else "", piece, "…" if is_cut and piece else ""
