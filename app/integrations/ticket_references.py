"""Finding the tickets that texts of a code host name, and those that they fix."""

import re
from collections.abc import Iterable

# The most tickets of one delivery, and of one pull request in total.
MAX_TICKETS = 20
_ID = r"[A-Z][A-Z0-9]{1,9}-[1-9][0-9]{0,8}"
_NAMED = re.compile(rf"(?<![A-Za-z0-9_-])({_ID})(?![A-Za-z0-9_]|-[0-9])")
_IN_BRANCH = re.compile(rf"(?<![A-Z0-9])({_ID})(?![0-9])")
_VERB = r"(?i:fix(?:e[sd])?|close[sd]?|resolve[sd]?)"
_SEPARATOR = r"(?:,? and |, ?)"
_FIXED = re.compile(
    rf"(?<![A-Za-z0-9_]){_VERB}(?::| |: )({_ID}(?:{_SEPARATOR}{_ID}){{0,19}})(?![A-Za-z0-9_])"
)
_ONE = re.compile(_ID)


def named_tickets(texts: Iterable[str], branch: str) -> list[str]:
    """The display ids in texts and in the name of a branch, without duplicates, 20 at most.

    In branch names, case does not matter.
    """
    found = dict.fromkeys(_IN_BRANCH.findall(branch.upper()))
    for text in texts:
        for match in _NAMED.finditer(text):
            found.setdefault(match[1])
            if len(found) >= MAX_TICKETS:
                break
    return list(found)[:MAX_TICKETS]


def fixed_tickets(texts: Iterable[str]) -> set[str]:
    """The display ids after ``fixes``, ``closes`` or ``resolves``, also several in a row."""
    return {
        name for text in texts for match in _FIXED.finditer(text) for name in _ONE.findall(match[1])
    }
