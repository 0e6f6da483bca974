"""IssueReferences to other issues in Markdown: found, and linked to where they are."""

import re
from collections.abc import Callable
from dataclasses import dataclass

# Code and links stay as they are.
_KEPT = re.compile(
    r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`|\[[^][\n]*\]\([^()\n]*\)|<[^<>\n]*>)", re.DOTALL
)
_ENDING = re.compile(r"[][\\<>`]")
LONGEST_TITLE = 120
# Of one issue.
MOST = 20


@dataclass(frozen=True, slots=True)
class LinkedText:
    text: str
    # The ids of issues that it names, each once, in order.
    named: tuple[str, ...]


def as_link_text(title: str) -> str:
    """A title that cannot end the text of a link."""
    return " ".join(_ENDING.sub("", title).split())[:LONGEST_TITLE]


def linked(
    text: str, pattern: re.Pattern[str], find: Callable[[re.Match[str]], tuple[str, str] | None]
) -> LinkedText:
    """Make links of all matches outside of code.

    ``find`` gives the id and the Markdown that replaces the match; None leaves it.
    """
    named: dict[str, None] = {}

    def replaced(match: re.Match[str]) -> str:
        found = find(match)
        if found is None:
            return match.group(0)
        named[found[0]] = None
        return found[1]

    parts = _KEPT.split(text)
    # Every second part is kept.
    parts[::2] = [pattern.sub(replaced, part) for part in parts[::2]]
    return LinkedText("".join(parts), tuple(named))
