"""Stems of English words: Porter's second algorithm, as the Snowball project keeps it.

Both databases search the same stems, because neither makes them. A word that is not English is
treated as if it were, alike in texts and in queries, so at worst two endings count as the same.
"""

import re
from functools import lru_cache
from threading import local

from Stemmer import Stemmer

# Nothing longer is a word with an ending; it would only take long.
_WORD = re.compile(r"[a-z]{3,32}")


class _OfThread(local):
    """A stemmer for each thread: it keeps state while it works. It remembers no words."""

    def __init__(self) -> None:
        self.english = Stemmer("english", 0)


_stemmers = _OfThread()


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a folded word; words of other letters than a to z are their own stems."""
    if not _WORD.fullmatch(word):
        return word
    found: str = _stemmers.english.stemWord(word)
    return found
