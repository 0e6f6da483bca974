"""Files in texts: finding their addresses, and replacing these once the files are stored."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from app.importing.issues import Issue, IssueFile

# A section of links; stored files are removed from it, as the ticket lists its files itself.
ATTACHMENTS = "Attachments"
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_WORDS = re.compile(r"\[([^\[\]\n]{1,200})\]\(<?$")
_ALTERNATIVE = re.compile(r"<img\b[^<>]*\balt=\"([^\"<>]{1,200})\"[^<>]*$", re.IGNORECASE)
# The maximum length of the text before an address that is searched for its label.
_BEFORE = 400


@dataclass(frozen=True, slots=True)
class StoredAs:
    """The stored file for an address."""

    file_id: str
    name: str
    is_image: bool

    @property
    def address(self) -> str:
        return f"/files/{self.file_id}"


def found(
    text: str, pattern: re.Pattern[str], source_of: Callable[[str], str]
) -> Iterator[IssueFile]:
    """The files whose addresses match outside of code; may contain duplicates."""
    for part in _CODE.split(text)[::2]:
        for match in pattern.finditer(part):
            before = part[max(0, match.start() - _BEFORE) : match.start()]
            words = _WORDS.search(before) or _ALTERNATIVE.search(before)
            name = unquote(urlsplit(match[0]).path).rpartition("/")[2]
            if words and "." not in name:
                name = words[1]
            yield IssueFile(match[0], source_of(match[0]), name)


def with_stored(issue: Issue, stored: Mapping[str, StoredAs]) -> Issue:
    """The issue with texts that show stored files; ``stored`` is by address in the tracker."""
    if not stored:
        return issue
    place = placing(stored)
    sections = [
        (title, _listed_elsewhere(text, stored) if title == ATTACHMENTS else place(text))
        for title, text in issue.sections
    ]
    return replace(
        issue,
        sections=tuple((title, text) for title, text in sections if text.strip()),
        comments=tuple(replace(one, text=place(one.text)) for one in issue.comments),
        pages=tuple(page for page in issue.pages if page[1] not in stored),
    )


def named_in(files: Sequence[IssueFile], texts: Sequence[str]) -> tuple[IssueFile, ...]:
    """The files whose addresses in the tracker still appear in a ticket's texts."""
    return tuple(
        one
        for one in files
        if any(
            one.address in text and placing({one.address: StoredAs("", "", False)})(text) != text
            for text in texts
        )
    )


def placing(stored: Mapping[str, StoredAs]) -> Callable[[str], str]:
    """A function that replaces the tracker's addresses in a text with those of stored files."""
    addresses = "|".join(re.escape(one) for one in sorted(stored, key=len, reverse=True))
    pattern = re.compile(
        # An HTML element, a link or image with GitLab's attributes after it, or a bare address.
        rf"<(?:img|video|source)\b[^<>]*\bsrc=\"(?P<tag>{addresses})\"[^<>]*>(?:\s*</video>)?"
        rf"|\]\(<?(?P<link>{addresses})>?(?:\s+\"[^\"\n]*\")?\)(?:\{{[^{{}}\n]*\}})?"
        rf"|<?(?<![\w/.%-])(?P<bare>{addresses})(?![\w/%-])>?",
        re.IGNORECASE,
    )

    def placed(match: re.Match[str]) -> str:
        linked = match["link"]
        if linked is not None:
            return f"]({stored[linked].address})" if linked in stored else match[0]
        one = stored.get(match["tag"] or match["bare"])
        if one is None:
            return match[0]
        alternative = _ALTERNATIVE.search(match[0][:-1])
        words = _plain(alternative[1] if alternative else one.name)
        return f"{'!' if one.is_image else ''}[{words}]({one.address})"

    def place(text: str) -> str:
        parts = _CODE.split(text)
        parts[::2] = [pattern.sub(placed, part) for part in parts[::2]]
        return "".join(parts)

    return place


def _plain(words: str) -> str:
    return re.sub(r"[\[\]\\`<>]", "", words)


def _listed_elsewhere(text: str, stored: Mapping[str, StoredAs]) -> str:
    """The lines of a list of links, without the files that are stored."""
    return "\n".join(
        line
        for line in text.split("\n")
        if line.rpartition("](")[2].removesuffix(")") not in stored
    )
