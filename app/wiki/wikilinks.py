"""What a body links to: ``[[slug]]``, ``[[slug|shown text]]`` and ``[[ticket:KEY-N]]``.

Links in fenced code and code spans are none (decisions.md, section 2, Wiki page). Linear in the
length of the body, whatever it holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.wiki import slugs

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BACKTICKS = re.compile(r"`+")
_LINK = re.compile(
    r"(?<!\\)\[\[(?:ticket:([A-Z][A-Z0-9]{1,9}-[0-9]{1,18})|([a-z0-9-]{1,128}))"
    r"(?:\|[^\[\]\n]{1,300})?\]\]"
)


@dataclass(frozen=True, slots=True)
class Links:
    """The pages and tickets that a body names, each once, in the order of their first mention."""

    slugs: tuple[str, ...]
    tickets: tuple[str, ...]


def links_in(body: str) -> Links:
    """The links of a body."""
    pages: dict[str, None] = {}
    tickets: dict[str, None] = {}
    for prose in _prose(body):
        for found in _LINK.finditer(prose):
            display_id, slug = found.groups()
            if display_id is not None:
                tickets[display_id] = None
            elif slugs.is_slug(slug):
                pages[slug] = None
    return Links(tuple(pages), tuple(tickets))


def _prose(body: str) -> Iterator[str]:
    """The parts of a body that are no code."""
    for paragraphs in _outside_fences(body):
        yield from _outside_spans(paragraphs)


def _outside_fences(body: str) -> Iterator[str]:
    """The runs of lines between fences; a fence that is never closed reaches to the end."""
    lines: list[str] = []
    fence = ""
    for line in body.splitlines():
        found = _FENCE.match(line)
        if fence:
            if found and found.group(1).startswith(fence) and not found.group(2).strip():
                fence = ""
            continue
        # A backtick behind the opening backticks makes them a code span of one line.
        if found and not (found.group(1)[0] == "`" and "`" in found.group(2)):
            fence = found.group(1)
        elif line.strip():
            lines.append(line)
            continue
        # A code span reaches neither over a fence nor over a blank line.
        if lines:
            yield "\n".join(lines)
            lines = []
    yield "\n".join(lines)


def _outside_spans(paragraph: str) -> Iterator[str]:
    """The text between code spans: a run of backticks up to the next run of the same length."""
    runs = [(found.start(), found.end()) for found in _BACKTICKS.finditer(paragraph)]
    closers: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        closers.setdefault(runs[index][1] - runs[index][0], []).append(index)
    start, index = 0, 0
    while index < len(runs):
        later = closers[runs[index][1] - runs[index][0]]
        while later and later[-1] <= index:
            later.pop()
        if later:
            yield paragraph[start : runs[index][0]]
            index = later[-1]
            start = runs[index][1]
        index += 1
    yield paragraph[start:]
