"""Parsing a search query. No input is a syntax error.

Words are ANDed; ``"a phrase"`` must occur literally, ``-word`` and ``-"a phrase"`` must not occur.
The last word, unless quoted or excluded, also matches as a prefix. Words joined by characters other
than spaces (``foo.bar``, ``2026-11-20``) are a phrase.
"""

import re
from dataclasses import dataclass

from app.search.words import WordRun, composed, folded, runs

# A minus excludes only at the start of a word and directly before it, so --option is a word.
_PIECE = re.compile(
    r'(?P<minus>-(?=[^\s-]))?(?:"(?P<quoted>[^"]*)(?P<closed>"?)|(?P<plain>[^\s"]+))'
)
_DISPLAY_ID = re.compile(r"([a-z][a-z0-9]{1,9})[ -]([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Part:
    """A word or phrase that documents must have, or must not have."""

    # Folded; scripts without spaces are split into pairs of characters.
    words: tuple[str, ...]
    # Whether the last word also matches as a prefix.
    is_open: bool = False
    is_quoted: bool = False
    # The runs of text as typed, to find them again in a snippet.
    runs: tuple[WordRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    wanted: tuple[Part, ...]
    unwanted: tuple[Part, ...]
    # All words in order; a title of exactly these words is an exact match.
    words: tuple[str, ...]
    # In lower case, if the whole query is a display id.
    display_id: str | None

    @property
    def is_empty(self) -> bool:
        """Whether the query has no word at all."""
        return not self.wanted and not self.unwanted


def parse(typed: str) -> Query:
    text = folded(composed(typed)).strip()
    pieces = []
    for piece in _PIECE.finditer(text):
        piece_runs = runs(piece["quoted"] or piece["plain"] or "")
        if piece_runs:
            pieces.append((piece, piece_runs))
    wanted: list[Part] = []
    unwanted: list[Part] = []
    for number, (piece, piece_runs) in enumerate(pieces, start=1):
        is_open = number == len(pieces) and not piece["minus"] and not piece["closed"]
        words = tuple(_words(piece_runs))
        part = Part(words, is_open, piece["plain"] is None, tuple(piece_runs))
        (unwanted if piece["minus"] else wanted).append(part)
    display_id = _DISPLAY_ID.fullmatch(text)
    return Query(
        wanted=tuple(dict.fromkeys(wanted)),
        unwanted=tuple(dict.fromkeys(unwanted)),
        words=tuple([word for run in runs(text) for word in run.words]),
        display_id="-".join(display_id.groups()) if display_id else None,
    )


def _words(piece_runs: list[WordRun]) -> list[str]:
    words = [word for run in piece_runs for word in run.words]
    last = piece_runs[-1]
    # After a run without spaces the text may continue, so its last character is not a word.
    return words[:-1] if last.is_unspaced and len(last.text) > 1 else words
