"""Adapting Markdown of other trackers and tools, outside of code."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

# Code, links and anything in angle brackets stay unchanged.
_KEPT = re.compile(
    r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`|\[[^][\n]*\]\([^()\n]*\)|<[^<>\n]*>)", re.DOTALL
)
_UNSAFE_IN_LINK_TEXT = re.compile(r"[][\\<>`]")
MAX_TITLE_LENGTH = 120
# The most references of one issue.
MAX_REFERENCES = 20

_BEGIN, _END = "<!--", "-->"
# The beginning of code or of a comment, an indented line, or an escaped character.
_TOKEN = re.compile(
    # After the markers of lists and quotes.
    r"^(?P<marks>(?: {0,3}+(?:>[ \t]?+|(?:[-*+]|\d{1,9}[.)])[ \t]++))*) {0,3}"
    r"(?:(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)|(?P<block><!--))"
    r"|^(?: {4}|\t)[^\n]*"
    r"|\\[\\`<]"
    r"|(?P<span>`++)"
    r"|(?P<comment><!--)",
    re.MULTILINE,
)
_LAST_FENCE = re.compile(r"^(?P<indent>[ \t>]*+)(?P<fence>`{3,}+|~{3,}+)[ \t\r]*+$", re.MULTILINE)
# The end of a paragraph, which code spans and comments that begin within a line cannot cross.
_PARAGRAPH_END = re.compile(
    r"^(?:[ \t>\r]*+$| {0,3}(?:`{3}|~{3}|<!--|#{1,6}[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t]))",
    re.MULTILINE,
)
_BACKTICKS = re.compile(r"`++")


@dataclass(frozen=True, slots=True)
class LinkedText:
    text: str
    # The ids of issues that the text names, without duplicates, in order.
    named: tuple[str, ...]


def safe_link_text(title: str) -> str:
    """The title without characters that could end the text of a link."""
    return " ".join(_UNSAFE_IN_LINK_TEXT.sub("", title).split())[:MAX_TITLE_LENGTH]


def linked(
    text: str, pattern: re.Pattern[str], find: Callable[[re.Match[str]], tuple[str, str] | None]
) -> LinkedText:
    """Turn all matches into links, except in code, links and angle brackets.

    ``find`` returns the id and the Markdown that replaces the match, or None to keep it.
    """
    named: dict[str, None] = {}

    def replaced(match: re.Match[str]) -> str:
        found = find(match)
        if found is None:
            return match.group(0)
        named[found[0]] = None
        return found[1]

    parts = _KEPT.split(text)
    # Every second part stays unchanged.
    parts[::2] = [pattern.sub(replaced, part) for part in parts[::2]]
    return LinkedText("".join(parts), tuple(named))


def without_comments(text: str) -> str:
    """The text without HTML comments, which the tools that it comes from do not show.

    Pages here show all of a text, so that bots read nothing that people do not see. A comment stays
    if it has no end, or none in its paragraph. So do code and lines indented like code.
    """
    if _BEGIN not in text:
        return text
    spans = _CodeSpans(text)
    parts: list[str] = []
    kept = position = end = 0
    while end >= 0 and (match := _TOKEN.search(text, position)):
        position = match.end()
        if match["fence"]:
            position = _end_of_fenced(text, match)
        elif match["span"]:
            position = spans.end_of(match)
        elif match["comment"] or match["block"]:
            begin = position - len(_BEGIN)
            # The shortest comment is ``<!-->``, whose ends share two characters.
            end = end if end >= begin + 2 else text.find(_END, begin + 2)
            if end >= 0 and (match["block"] or end < spans.paragraph_end(position)):
                parts.append(text[kept:begin])
                kept = position = end + len(_END)
    return "".join((*parts, text[kept:]))


def _end_of_fenced(text: str, first: re.Match[str]) -> int:
    fence, indent = first["fence"], len(first["marks"]) + 3
    for last in _LAST_FENCE.finditer(text, first.end()):
        # At least as long as the opening fence, and of the same character.
        if last["fence"].startswith(fence) and len(last["indent"]) <= indent:
            return last.end()
    return len(text)


class _CodeSpans:
    """Finds the ends of code spans in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        # The positions of runs of backticks, by length.
        self._starts: defaultdict[int, list[int]] = defaultdict(list)
        for run in _BACKTICKS.finditer(text):
            self._starts[len(run[0])].append(run.start())
        self._paragraph_end = -1

    def end_of(self, first: re.Match[str]) -> int:
        """The end of the span that ``first`` begins, or of ``first`` if it begins none."""
        begin, length = first.end(), len(first["span"])
        starts = self._starts[length]
        index = bisect_left(starts, begin)
        if index < len(starts) and starts[index] < self.paragraph_end(begin):
            return starts[index] + length
        return begin

    def paragraph_end(self, begin: int) -> int:
        """The end of the paragraph around ``begin``, which must not decrease between calls."""
        if self._paragraph_end < begin:
            found = _PARAGRAPH_END.search(self._text, begin)
            self._paragraph_end = found.start() if found else len(self._text)
        return self._paragraph_end
