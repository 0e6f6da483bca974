"""Where in a text the words of a query stand, and the piece of a body that shows them best.

What matches here is what matches in the index: the same folding, words and stems. Matches are spans
beside the text, never marks in it, so no text can pass for a match.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from typing import Protocol

from app.search.parsing import Part, Query
from app.search.stemming import stem
from app.search.words import LONGEST, WordRun, composed, folded, is_picture

LENGTH = 200
# How far the piece begins before its first match.
BEFORE = 50
# No more matches than these are weighed, of each part of the query and in all.
WEIGHED = 100
WEIGHED_IN_ALL = 400

Span = tuple[int, int]

_STARTS = r"(?<![^\W_])"
_ENDS = r"(?![^\W_])"
_LETTERS = r"[^\W_]*"
_REST = re.compile(_LETTERS)
_BLANK = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of plain text, and the spans of its matches in code points."""

    text: str
    highlights: list[Span]


class _Matcher(Protocol):
    """Finds one part of a query in folded text."""

    def __call__(self, plain: str, most: int, /) -> list[Span]:
        """The first matches, in order and apart."""


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
            most = min(WEIGHED, WEIGHED_IN_ALL - len(found))
            found += [(start, end, number) for start, end in matcher(plain, most)]
        if original is not None:
            found = [(*original(start, end), number) for start, end, number in found]
        return sorted(found) if len(self._matchers) > 1 else found


def _matcher(part: Part) -> _Matcher:
    if len(part.runs) > 1 or part.runs[0].is_unspaced or part.is_quoted:
        return _by_pattern(_phrase(part))
    word = part.runs[0].text[:LONGEST]
    if is_picture(word):
        return _by_pattern(re.escape(word))
    wanted = stem(word)
    # Endings change at most the last letter of what becomes the stem, but for a few exceptions.
    common = wanted[:-1] if len(wanted) > 2 else wanted
    fitting = _Fitting(wanted, word if part.is_open else None)
    if word.startswith(common):
        return partial(_words, common, fitting)
    either = re.compile(f"{_STARTS}(?:{re.escape(common)}|{re.escape(word)}){_LETTERS}")
    return lambda plain, most: list(
        islice((match.span() for match in either.finditer(plain) if fitting[match.group()]), most)
    )


def _by_pattern(pattern: str) -> _Matcher:
    compiled = re.compile(pattern)
    return lambda plain, most: [match.span() for match in islice(compiled.finditer(plain), most)]


class _Fitting(dict[str, bool]):
    """Whether a word has the stem that is looked for, or the beginning; looked up once each."""

    def __init__(self, wanted: str, beginning: str | None) -> None:
        super().__init__()
        self._wanted = wanted
        self._beginning = beginning

    def __missing__(self, word: str) -> bool:
        begins_so = self._beginning is not None and word.startswith(self._beginning)
        self[word] = begins_so or stem(word[:LONGEST]) == self._wanted
        return self[word]


def _words(letters: str, fitting: _Fitting, plain: str, most: int) -> list[Span]:
    """The words that begin with these letters and fit. To compile a pattern would take longer."""
    found: list[Span] = []
    at = plain.find(letters)
    while at >= 0 and len(found) < most:
        end = _REST.match(plain, at).end()  # type: ignore[union-attr]  # matches anywhere
        if (at == 0 or not plain[at - 1].isalnum()) and fitting[plain[at:end]]:
            found.append((at, end))
        at = plain.find(letters, end)
    return found


def _phrase(part: Part) -> str:
    """The runs of a part, with anything that is no letter between them."""
    pattern = ""
    before: WordRun | None = None
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


def _folded_with_offsets(text: str) -> tuple[str, Callable[[int, int], Span] | None]:
    """The folded text, and how a span of it becomes one of the text where they are not the same."""
    plain = folded(text)
    if text.isascii() or all(len(folded(character)) == 1 for character in set(text)):
        return plain, None
    lengths = [len(folded(character)) for character in text]
    starts = [0, *accumulate(lengths)]

    def original(start: int, end: int) -> Span:
        return bisect_right(starts, start) - 1, bisect_left(starts, end)

    return plain, original


def _best_start(matches: list[tuple[int, int, int]]) -> int:
    """Where the stretch with the most parts of the query begins; the first one of several."""
    best, most = 0, 0
    in_all = len({part for _, _, part in matches})
    for at, (start, _, first) in enumerate(matches):
        limit = start + LENGTH - BEFORE
        parts = {first}
        for _, end, part in islice(matches, at + 1, at + WEIGHED):
            if end <= limit:
                parts.add(part)
        if len(parts) > most:
            best, most = start, len(parts)
        if most == in_all:
            break
    return best


def _cut(text: str, match: int) -> tuple[str, str, str]:
    """About ``LENGTH`` characters around a match, cut between words, white space made one blank.

    Before and behind them stands what says that there is more.
    """
    start = 0
    if match > BEFORE:
        start = match - BEFORE
        blank = _BLANK.search(text, start, match)
        start = blank.end() if blank else start
    # What stands before it is not looked at, and white space can be as long as the text.
    for length in (2 * LENGTH, 20 * LENGTH):
        raw = text[start : start + length]
        piece = " ".join(raw.split())
        if len(piece) > LENGTH or len(raw) < length:
            break
    is_cut = len(piece) > LENGTH or start + len(raw) < len(text.rstrip())
    if len(piece) > LENGTH:
        shorter = piece[:LENGTH]
        space = shorter.rfind(" ")
        piece = shorter[:space] if space > LENGTH * 2 // 3 else shorter
    return "…" if start else "", piece, "…" if is_cut and piece else ""
