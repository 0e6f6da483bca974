"""From what a person typed to what is looked for. Nothing typed is an error.

Words are ANDed; ``"a phrase"`` stands as it is, ``-word`` and ``-"a phrase"`` must not occur. The
last word, unless it is quoted or unwanted, may be the beginning of one. What holds several words
without a space between (``foo.bar``, ``2026-11-20``) is a phrase.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.search.words import WordRun, composed, folded, runs

# A minus counts where a word begins right behind it, so that --option is a word.
_PIECE = re.compile(
    r'(?P<minus>-(?=[^\s-]))?(?:"(?P<quoted>[^"]*)(?P<closed>"?)|(?P<plain>[^\s"]+))'
)
_DISPLAY_ID = re.compile(r"([a-z][a-z0-9]{1,9})[ -]([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Part:
    """A word or phrase that documents must have, or must not have."""

    # In the folded form; the words of a script without spaces are pairs of characters.
    words: tuple[str, ...]
    is_open: bool = False
    is_quoted: bool = False
    # The runs of text as typed, for finding them again in a snippet.
    runs: tuple[WordRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What was typed, understood."""

    wanted: tuple[Part, ...]
    unwanted: tuple[Part, ...]
    # All the words typed, in order; what a title must consist of to fit exactly.
    words: tuple[str, ...]
    # In lower case, where all that was typed is one.
    display_id: str | None

    @property
    def is_empty(self) -> bool:
        """Whether no word was typed at all."""
        return not self.wanted and not self.unwanted


def parse(typed: str) -> Query:
    """Understand what was typed."""
    text = folded(composed(typed)).strip()
    wanted: list[Part] = []
    unwanted: list[Part] = []
    read = (
        (piece, tuple(runs(piece["quoted"] or piece["plain"] or "")))
        for piece in _PIECE.finditer(text)
    )
    pieces = [(piece, found) for piece, found in read if found]
    for number, (piece, found) in enumerate(pieces):
        is_last = number == len(pieces) - 1
        is_open = is_last and not piece["minus"] and not piece["closed"]
        part = Part(tuple(_words(found)), is_open, piece["plain"] is None, found)
        (unwanted if piece["minus"] else wanted).append(part)
    display_id = _DISPLAY_ID.fullmatch(text)
    return Query(
        wanted=tuple(dict.fromkeys(wanted)),
        unwanted=tuple(dict.fromkeys(unwanted)),
        words=tuple(word for run in runs(text) for word in run.words),
        display_id="-".join(display_id.groups()) if display_id else None,
    )


def _words(found: tuple[WordRun, ...]) -> Iterator[str]:
    for run in found[:-1]:
        yield from run.words
    last = found[-1]
    # The text may go on behind a run without spaces, so its last character is no word there.
    yield from last.words[:-1] if last.is_unspaced and len(last.text) > 1 else last.words
