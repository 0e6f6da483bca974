"""Words and their stems, the same for indexed texts, queries and both databases.

Folding removes case and diacritics. Words are runs of letters and digits. Scripts without spaces
are cut into overlapping pairs of characters, so that any part of a run of two or more is found.
Pictographs are words of one character.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from threading import local

from Stemmer import Stemmer

MAX_WORD_LENGTH = 64

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer: no spaces between words, or irregular.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003fffd"
)
_PICTURE = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_IS_PICTURE = re.compile(_PICTURE)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# These match folded text.
_ASCII = re.compile("[a-z0-9]+")
_PLAIN = re.compile(f"[^\\W_]+|{_PICTURE}")
_MIXED = re.compile(f"(?P<run>[{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[^\\W_])+|{_PICTURE}")
# Longer words have no English endings and would only take time.
_STEMMED = re.compile(r"[a-z]{3,32}")


class _Folding(dict[int, str]):
    """Folded characters by code point, computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        # Decomposing can yield capitals, for example from Roman numeral signs or the numero sign.
        decomposed = unicodedata.normalize("NFKD", character.casefold()).casefold()
        kept = "".join(part for part in decomposed if unicodedata.category(part) != "Mn")
        folded = unicodedata.normalize("NFC", kept)
        self[code] = folded
        return folded


_folding = _Folding()


def composed(text: str) -> str:
    """The text in NFC, as ``folded`` expects it."""
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
        """The run itself, or its pairs of characters and its last character."""
        if not self.is_unspaced:
            return [self.text[:MAX_WORD_LENGTH]]
        return [self.text[start : start + 2] for start in range(len(self.text))]


def runs(text: str) -> list[WordRun]:
    """The runs of a folded text in their order."""
    if _HAS_UNSPACED.search(text) is None:
        return [WordRun(word) for word in _PLAIN.findall(text)]
    return [WordRun(run.group(), run.lastgroup == "run") for run in _MIXED.finditer(text)]


def words(text: str) -> list[str]:
    """The words of a text in their order."""
    if text.isascii():
        return [word[:MAX_WORD_LENGTH] for word in _ASCII.findall(text.lower())]
    plain = folded(composed(text))
    if _HAS_UNSPACED.search(plain) is None:
        return [word[:MAX_WORD_LENGTH] for word in _PLAIN.findall(plain)]
    return [word for run in runs(plain) for word in run.words]


def is_unspaced(word: str) -> bool:
    """Whether a word comes from a script without spaces, and so is a pair of characters."""
    return _HAS_UNSPACED.match(word) is not None


def is_picture(word: str) -> bool:
    return _IS_PICTURE.match(word) is not None


class _Stemmers(local):
    """A Porter2 stemmer for each thread, as it keeps state while it works. It caches no words."""

    def __init__(self) -> None:
        self.english = Stemmer("english", 0)


_stemmers = _Stemmers()


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The English stem of a folded word; words with letters other than a to z are unchanged.

    Words of other languages are stemmed the same way in texts and queries, so at worst two of their
    endings count as equal.
    """
    if not _STEMMED.fullmatch(word):
        return word
    stemmed: str = _stemmers.english.stemWord(word)
    return stemmed
