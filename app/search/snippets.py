"""Finding the words of a query in a text, and the part of a body that shows them best.

Matching follows the index: the same folding, words and stems. Matches are spans beside the text,
never marks inside it, so no text can pass for a match.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from typing import TypeAlias

from app.search.parsing import Part, Query
from app.search.words import MAX_WORD_LENGTH, WordRun, composed, folded, is_picture, stem

LENGTH = 200
ELLIPSIS = "…"
# The characters before the first match.
LEAD_LENGTH = 50
# A text of at most this many characters is read whole.
READ_WHOLE = 2_000
# For a longer text, the characters around its first match, including Markdown signs.
READ_BEFORE = 150
READ_AFTER = 450
# The most matches considered: for each part of the query, and in total.
MAX_MATCHES_PER_PART = 100
MAX_MATCHES = 400

Span = tuple[int, int]
# A stretch of text, and whether it matches.
Piece = tuple[str, bool]

_STARTS = r"(?<![^\W_])"
_ENDS = r"(?![^\W_])"
_LETTERS = r"[^\W_]*"
_REST = re.compile(_LETTERS)


def _cells(row: re.Match[str]) -> str:
    """The text of a table row's cells; empty for the row of dashes below the header."""
    cells = [cell.strip() for cell in row[0].split("|")]
    return " · ".join(cell for cell in cells if cell.strip(":-"))


# Markdown signs: characters of which each match contains one, a pattern, and the replacement. No
# pattern looks far ahead.
_MARKDOWN: tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    # Table rows: a line that begins or ends with a bar.
    (
        "|",
        re.compile(
            r"^(?:[ \t]{0,3}\|[^\n]{0,2000}|[^\n|]{1,2000}\|[^\n]{0,2000}\|[ \t]{0,3})$", re.M
        ),
        _cells,
    ),
    # Rules and code fences.
    (
        "-*_`~",
        re.compile(r"^[ \t]{0,3}(?:[-*_][ \t]?){3,80}$|^[ \t]{0,8}(?:```|~~~)[\w+-]{0,40}$", re.M),
        "",
    ),
    # Headings, quotes, and list items with their boxes.
    ("#>-*+", re.compile(r"^[ \t]{0,20}(?:#{1,6} |> ?|[-*+] (?:\[[ xX]\] )?)", re.M), ""),
    # Wiki links, then links and pictures.
    ("[", re.compile(r"\[\[(?:[^\[\]|\n]{1,200}\|)?([^\[\]|\n]{1,200})\]\]"), r"\1"),
    ("[", re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{1,2048}\)"), r"\1"),
    ("*~`", re.compile(r"\*\*|~~|`{1,3}"), ""),
    ("*", re.compile(r"\*(?:(?<![\w*]\*)(?=\w)|(?<=[\w.!?]\*)(?![\w*]))"), ""),
    ("_", re.compile(r"_(?<!\w_)(?=\w)([^_\n]{1,200})_(?!\w)"), r"\1"),
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Plain text, and the spans of its matches in code points."""

    text: str
    highlights: list[Span]


# Finds the first matches of one part of a query in folded text, up to a limit, in order and without
# overlaps.
_Matcher: TypeAlias = Callable[[str, int], list[Span]]


class Highlighter:
    """Finds the matches of one query in any number of texts."""

    def __init__(self, query: Query) -> None:
        self._matchers = [_matcher(part) for part in query.wanted]

    def spans(self, text: str) -> list[Span]:
        """The matches in a composed text (``words.composed``), in order; adjacent ones joined."""
        return _joined(self._matches(text))

    def pieces(self, text: str) -> list[Piece]:
        text = composed(text)
        return pieces(text, self.spans(text))

    def best(self, texts: Iterable[str]) -> int | None:
        """The index of the first text with the most parts of the query; None if none has any."""
        counts = [len({part for _, _, part in self._matches(composed(text))}) for text in texts]
        highest = max(counts, default=0)
        return counts.index(highest) if highest else None

    def snippet(self, body: str) -> Snippet:
        """The part of the body with the most parts of the query, on one line of plain text."""
        text = composed(body)
        start, end = 0, len(text)
        if end > READ_WHOLE:
            start, end = _around(text, _best_start(self._matches(text)))
        plain = _one_line(text[start:end])
        best = self._matches(plain)
        if not best and end - start < len(text):
            # The match is in Markdown syntax, such as the address of a link.
            start, end, plain = 0, len(text), _one_line(text)
            best = self._matches(plain)
        first, last = _cut(plain, _best_start(best))
        before = ELLIPSIS if start or first else ""
        after = ELLIPSIS if plain and (last < len(plain) or end < len(text)) else ""
        shift = len(before) - first
        shown = [match for match in best if first <= match[0] and match[1] <= last]
        spans = [(start + shift, end + shift) for start, end in _joined(shown)]
        return Snippet(before + plain[first:last] + after, spans)

    def _matches(self, text: str) -> list[tuple[int, int, int]]:
        """The matches in order: start, end, number of the part of the query."""
        plain, original = _folded_with_offsets(text)
        matches: list[tuple[int, int, int]] = []
        for number, matcher in enumerate(self._matchers):
            limit = min(MAX_MATCHES_PER_PART, MAX_MATCHES - len(matches))
            matches += [(start, end, number) for start, end in matcher(plain, limit)]
        if original is not None:
            matches = [(*original(start, end), number) for start, end, number in matches]
        return sorted(matches) if len(self._matchers) > 1 else matches


def _joined(matches: Iterable[tuple[int, int, int]]) -> list[Span]:
    """The spans of matches; adjacent and overlapping ones are joined."""
    spans: list[Span] = []
    for start, end, _ in matches:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _one_line(body: str) -> str:
    """The text without Markdown signs, with white space collapsed."""
    return " ".join(without_markdown(body).split())


def without_markdown(body: str) -> str:
    """The text without Markdown signs; the marked text stays."""
    for letters, pattern, replacement in _MARKDOWN:
        if any(map(body.__contains__, letters)):
            body = pattern.sub(replacement, body)
    return body


def pieces(text: str, spans: list[Span]) -> list[Piece]:
    """The text cut at the spans; each piece with whether it matches."""
    cut: list[Piece] = []
    position = 0
    for start, end in spans:
        cut += [(text[position:start], False), (text[start:end], True)]
        position = end
    cut.append((text[position:], False))
    return [piece for piece in cut if piece[0]]


def _matcher(part: Part) -> _Matcher:
    if len(part.runs) > 1 or part.runs[0].is_unspaced or part.is_quoted:
        return _by_pattern(_phrase(part))
    word = part.runs[0].text[:MAX_WORD_LENGTH]
    if is_picture(word):
        return _by_pattern(re.escape(word))
    word_stem = stem(word)
    # With few exceptions, an ending changes at most the last letter of the stem.
    common = word_stem[:-1] if len(word_stem) > 2 else word_stem
    verdicts = _Verdicts(word_stem, word if part.is_open else None)
    if word.startswith(common):
        return partial(_words, common, verdicts)
    either = re.compile(f"{_STARTS}(?:{re.escape(common)}|{re.escape(word)}){_LETTERS}")
    return lambda plain, limit: list(
        islice((match.span() for match in either.finditer(plain) if verdicts[match.group()]), limit)
    )


def _by_pattern(pattern: str) -> _Matcher:
    compiled = re.compile(pattern)
    return lambda plain, limit: [match.span() for match in islice(compiled.finditer(plain), limit)]


class _Verdicts(dict[str, bool]):
    """Whether a word has the stem or the prefix; computed once for each word."""

    def __init__(self, word_stem: str, prefix: str | None) -> None:
        super().__init__()
        self._stem = word_stem
        self._prefix = prefix

    def __missing__(self, word: str) -> bool:
        has_prefix = self._prefix is not None and word.startswith(self._prefix)
        self[word] = has_prefix or stem(word[:MAX_WORD_LENGTH]) == self._stem
        return self[word]


def _words(letters: str, verdicts: _Verdicts, plain: str, limit: int) -> list[Span]:
    """The matching words that begin with these letters; faster than compiling a pattern."""
    spans: list[Span] = []
    start = plain.find(letters)
    while start >= 0 and len(spans) < limit:
        end = _REST.match(plain, start).end()  # type: ignore[union-attr]  # matches anywhere
        if (start == 0 or not plain[start - 1].isalnum()) and verdicts[plain[start:end]]:
            spans.append((start, end))
        start = plain.find(letters, end)
    return spans


def _phrase(part: Part) -> str:
    """A pattern of the runs of a part, separated by anything except letters and digits."""
    pattern = ""
    before: WordRun | None = None
    for run in part.runs:
        if before is not None:
            loose = before.is_unspaced or run.is_unspaced
            pattern += r"[\W_]*" if loose else r"[\W_]+"
        pattern += re.escape(run.text[:MAX_WORD_LENGTH] if not run.is_unspaced else run.text)
        before = run
    first, last = part.runs[0], part.runs[-1]
    starts = "" if first.is_unspaced or is_picture(first.text) else _STARTS
    if last.is_unspaced or is_picture(last.text):
        return starts + pattern
    return starts + pattern + (_LETTERS if part.is_open else _ENDS)


def _folded_with_offsets(text: str) -> tuple[str, Callable[[int, int], Span] | None]:
    """The folded text, and a function that maps its spans to the text if their offsets differ."""
    plain = folded(text)
    if text.isascii() or all(len(folded(character)) == 1 for character in set(text)):
        return plain, None
    lengths = [len(folded(character)) for character in text]
    starts = [0, *accumulate(lengths)]

    def original(start: int, end: int) -> Span:
        return bisect_right(starts, start) - 1, bisect_left(starts, end)

    return plain, original


def _best_start(matches: list[tuple[int, int, int]]) -> int:
    """The start of the first stretch with the most parts of the query."""
    best, highest = 0, 0
    in_all = len({part for _, _, part in matches})
    for index, (start, _, first) in enumerate(matches):
        limit = start + LENGTH - LEAD_LENGTH
        parts = {first}
        for _, end, part in islice(matches, index + 1, index + MAX_MATCHES_PER_PART):
            if end <= limit:
                parts.add(part)
        if len(parts) > highest:
            best, highest = start, len(parts)
        if highest == in_all:
            break
    return best


def _around(text: str, match: int) -> Span:
    """The part of a text from which the snippet of this match is made.

    It starts at the start of a line if there is one in reach.
    """
    earliest = max(0, match - READ_BEFORE)
    line = text.rfind("\n", earliest, max(0, match - LEAD_LENGTH)) + 1
    return line or earliest, min(len(text), match + READ_AFTER)


def _cut(line: str, match: int) -> Span:
    """At most ``LENGTH`` characters around a match, cut between words where one ends in reach."""
    start = max(0, match - LEAD_LENGTH)
    if start:
        start = line.find(" ", start, match) + 1 or start
    end = start + LENGTH
    if end >= len(line):
        return start, len(line)
    space = line.rfind(" ", start + LENGTH * 2 // 3, end + 1)
    return start, space if space > 0 else end
