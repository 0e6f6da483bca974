"""Completing an issue with data that trackers list separately: links, merge requests, history."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from app.importing.file_links import found
from app.importing.foreign_markdown import MAX_REFERENCES, linked
from app.importing.issues import MENTION_LINK, Issue, IssueFile, IssueLink
from app.importing.trackers.history import PastChange, with_history


@dataclass(slots=True)
class IssueParts:
    """The parts of one issue; ``pages`` are (title, address) of pull requests and the like."""

    address: str = ""
    links: list[IssueLink] = field(default_factory=list)
    pages: list[tuple[str, str]] = field(default_factory=list)
    changes: list[PastChange] = field(default_factory=list)
    files: list[IssueFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IssueReferences:
    """How texts of a tracker refer to other issues and to files.

    ``find`` gets a match of ``pattern`` and returns the id and the Markdown that replaces it, or
    None to keep it; the id is empty if the target is no issue. ``source_of`` gets the address of a
    file that matches ``files`` and returns the address to request it from.
    """

    pattern: re.Pattern[str]
    find: Callable[[re.Match[str]], tuple[str, str] | None]
    files: re.Pattern[str] | None = None
    source_of: Callable[[str], str] = str


def completed(issue: Issue, parts: IssueParts, references: IssueReferences, tracker: str) -> Issue:
    """The issue with its parts, and with links for the references in its texts."""
    named: dict[str, None] = {}

    def with_links(text: str) -> str:
        found = linked(text, references.pattern, references.find)
        named.update(dict.fromkeys(found.named))
        return found.text

    sections = [(title, with_links(text)) for title, text in issue.sections]
    comments = [replace(one, text=with_links(one.text)) for one in issue.comments]
    links = list(dict.fromkeys([*issue.links, *parts.links]))
    taken = {link.other_id for link in links} | {issue.id, ""}
    mentioned = [name for name in named if name not in taken]
    files = list(parts.files)
    if references.files is not None:
        texts = (*(text for _, text in sections), *(one.text for one in comments))
        for text in texts:
            files += found(text, references.files, references.source_of)
    return replace(
        issue,
        files=tuple({file.address: file for file in reversed(files)}.values())[::-1],
        address=parts.address,
        pages=tuple(dict.fromkeys(page for page in parts.pages if page[1]))[:MAX_REFERENCES],
        sections=tuple(sections),
        links=(*links, *(IssueLink(MENTION_LINK, other) for other in mentioned[:MAX_REFERENCES])),
        comments=with_history(comments, tracker, parts.changes),
    )


def once(items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The items without duplicate ids: a list that grows while it is read repeats items."""
    seen: set[str] = set()
    for item in items:
        identifier = str(item["id"])
        if identifier not in seen:
            seen.add(identifier)
            yield item
