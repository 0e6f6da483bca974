"""Markdown of other trackers and tools: what is changed in it, outside of code."""

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

_BEGIN, _END = "<!--", "-->"
# Code, indented lines among it, or the beginning of a comment.
_CODE_OR_COMMENT = re.compile(
    r"(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)"
    r"|(?<!`)(?P<span>`{1,2})(?!`)[^\n]*?(?<!`)(?P=span)(?!`)"
    r"|^(?: {4}|\t)[^\n]*"
    r"|(?P<comment><!--)",
    re.DOTALL | re.MULTILINE,
)


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


def without_comments(text: str) -> str:
    """The text without comments of HTML, which the tools that it comes from do not show.

    Pages here show all of a text, so that bots read nothing that people do not see. A comment that
    has no end stays, as do code and lines that are indented like it.
    """
    if _BEGIN not in text:
        return text
    parts, position = [], 0
    while match := _CODE_OR_COMMENT.search(text, position):
        kept, following = match.end(), match.end()
        if match["comment"]:
            # The shortest comment is ``<!-->``.
            end = text.find(_END, match.start() + 2)
            if end < 0:
                break
            kept, following = match.start(), end + len(_END)
        parts.append(text[position:kept])
        position = following
    return "".join((*parts, text[position:]))
