"""Adding to an issue what a tracker keeps elsewhere: links, requests to merge, history."""

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
    """What belongs to one issue; ``pages`` are (title, address) of pull requests and the like."""

    address: str = ""
    links: list[IssueLink] = field(default_factory=list)
    pages: list[tuple[str, str]] = field(default_factory=list)
    changes: list[PastChange] = field(default_factory=list)
    files: list[IssueFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IssueReferences:
    """How texts of a tracker name other issues, and files.

    ``find`` gets a match of ``pattern`` and gives the id and the Markdown that replaces it, or None
    to leave it; the id is empty unless it is of an issue. ``source_of`` gets the address of a file
    that matches ``files`` and says where it is asked for.
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
    """Each item once, by its id: a list that grew while it was read repeats some."""
    seen: set[str] = set()
    for item in items:
        identifier = str(item["id"])
        if identifier not in seen:
            seen.add(identifier)
            yield item
