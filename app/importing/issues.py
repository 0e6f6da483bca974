"""Issues, comments and links in the form that all formats are read into."""

from dataclasses import dataclass, field

from app.importing import messages
from app.projects.models import StateCategory

# The kind of link from an issue to its parent.
PARENT_LINK = "parent-child"
# The kind of link to an issue that a text mentions, whether or not it is imported.
MENTION_LINK = "mentioned"
MEDIUM = 2


@dataclass(frozen=True, slots=True)
class IssueLink:
    """A dependency on another issue, or the parent."""

    kind: str
    other_id: str


@dataclass(frozen=True, slots=True)
class IssueComment:
    author: str
    text: str
    written_at: int | None
    # The time as written in the file, if it cannot be parsed.
    when: str = ""


@dataclass(frozen=True, slots=True)
class IssueFile:
    """A file of an issue: its address in texts, and the address to request it from."""

    address: str
    source: str
    name: str


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue of a file; times are in milliseconds, priority is 0 (most urgent) to 4."""

    id: str
    title: str
    # The issue's address in the other tracker.
    address: str = ""
    # (heading, text); a text without a heading comes first.
    sections: tuple[tuple[str, str], ...] = ()
    status: str = "open"
    # Jira's category of the status.
    status_meaning: str = ""
    # The category of a state that Docket exported.
    category: StateCategory | None = None
    priority: int = MEDIUM
    kind: str = "task"
    assignee: str = ""
    author: str = ""
    labels: tuple[str, ...] = ()
    links: tuple[IssueLink, ...] = ()
    comments: tuple[IssueComment, ...] = ()
    # (title, address) of related pages, such as pull requests.
    pages: tuple[tuple[str, str], ...] = ()
    files: tuple[IssueFile, ...] = ()
    due_date: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    closed_at: int | None = None
    closing: str = ""
    # Data without a field, for the last line of the ticket's text.
    origins: tuple[str, ...] = ()
    is_deleted: bool = False
    # The position in the file, for the report.
    where: str = ""

    @property
    def row_count(self) -> int:
        """The most tickets, comments, labels, relations and links that it becomes."""
        return 1 + len(self.comments) + len(self.labels) + len(self.links) + len(self.pages)


class TooMuch(ValueError):
    """An upload is too large."""


@dataclass(slots=True)
class Allowance:
    """The most rows to read from all files together; unlimited without ``max_rows``."""

    max_rows: int | None = None
    taken: int = 0

    def take(self) -> None:
        """Count a row; raises TooMuch over the limit."""
        self.taken += 1
        if self.max_rows is not None and self.taken > self.max_rows:
            raise TooMuch(messages.too_many_rows(self.max_rows))


@dataclass(frozen=True, slots=True)
class IssueSource:
    """A file to read; ``prefix`` names it in positions if there are several files."""

    name: str
    content: bytes
    prefix: str = ""
    allowance: Allowance = field(default_factory=Allowance)

    def line(self, number: int) -> str:
        """The position of a line, for the report."""
        return f"{self.prefix}line {number}"
