"""Passwords that are guessed first: common ones, and those made of what anybody knows."""

import string
from collections.abc import Iterable
from functools import lru_cache

from zxcvbn.frequency_lists import FREQUENCY_LISTS

# A shorter word is part of too many good passwords.
SHORTEST_WORD = 4
# So much at the end of a common password makes it no better.
LONGEST_TAIL = 6
LONGEST_UNIT = 4
RUNS = ("0123456789" * 12, string.ascii_lowercase * 4, "qwertyuiopasdfghjklzxcvbnm" * 4)


def is_common(password: str, words: Iterable[str] = ()) -> bool:
    """Whether the password is common, a run or a repetition, or contains one of the ``words``."""
    folded = password.casefold()
    if any(len(word) >= SHORTEST_WORD and word.casefold() in folded for word in words):
        return True
    core = folded.rstrip(string.digits + string.punctuation)
    is_known = folded in _common() or (
        core in _common() and len(folded) - len(core) <= LONGEST_TAIL
    )
    is_run = any(folded in run or folded[::-1] in run for run in RUNS)
    return is_known or is_run or _is_repeated(folded)


def _is_repeated(folded: str) -> bool:
    unit = folded[: (folded + folded).index(folded, 1)]
    is_whole = len(unit) < len(folded)
    return is_whole and (len(unit) <= LONGEST_UNIT or unit in _common())


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    return frozenset(FREQUENCY_LISTS["passwords"])
