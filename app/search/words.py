"""From text to the words that are compared, the same for what is stored and what is looked for.

Folding takes case and diacritics away. Words are runs of letters and digits. Scripts without
spaces between words are cut into overlapping pairs of characters, so that any part of a run of two
or more can be found; pictographs are words of one character.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 64

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer, which have no spaces or other ones.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003fffd"
)
_PICTURE = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_IS_PICTURE = re.compile(_PICTURE)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# Of folded text.
_ASCII = re.compile("[a-z0-9]+")
_PLAIN = re.compile(f"[^\\W_]+|{_PICTURE}")
_MIXED = re.compile(f"(?P<run>[{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[^\\W_])+|{_PICTURE}")


class _Folding(dict[int, str]):
    """Characters by code point, folded on first use: casefolded, without diacritics."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        # What a sign stands for may have capitals: the Roman numeral, the numero sign.
        apart = unicodedata.normalize("NFKD", character.casefold()).casefold()
        kept = "".join(part for part in apart if unicodedata.category(part) != "Mn")
        folded = unicodedata.normalize("NFC", kept)
        self[code] = folded
        return folded


_folding = _Folding()


def composed(text: str) -> str:
    """The text with each letter and its marks as one character, as ``folded`` expects it."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """The composed text without case and diacritics, character by character."""
    return text.lower() if text.isascii() else text.translate(_folding)


@dataclass(frozen=True, slots=True)
class WordRun:
    """A stretch of text that is one word, or several of a script without spaces."""

    text: str
    is_unspaced: bool = False

    @property
    def words(self) -> list[str]:
        """The words of the run: itself, or its pairs of characters and the last one alone."""
        if not self.is_unspaced:
            return [self.text[:LONGEST]]
        return [self.text[at : at + 2] for at in range(len(self.text))]


def runs(text: str) -> Iterator[WordRun]:
    """The runs of a folded text in their order."""
    if _HAS_UNSPACED.search(text) is None:
        for word in _PLAIN.findall(text):
            yield WordRun(word)
        return
    for found in _MIXED.finditer(text):
        yield WordRun(found.group(), found.lastgroup == "run")


def words(text: str) -> list[str]:
    """The words of a text in their order."""
    if text.isascii():
        return [word[:LONGEST] for word in _ASCII.findall(text.lower())]
    plain = folded(composed(text))
    if _HAS_UNSPACED.search(plain) is None:
        return [word[:LONGEST] for word in _PLAIN.findall(plain)]
    return [word for run in runs(plain) for word in run.words]


def is_unspaced(word: str) -> bool:
    """Whether a word comes from a script without spaces, and so is a pair of characters."""
    return _HAS_UNSPACED.match(word) is not None


def is_picture(word: str) -> bool:
    """Whether a word is a pictograph."""
    return _IS_PICTURE.match(word) is not None
