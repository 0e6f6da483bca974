"""What every format is read into."""

from dataclasses import dataclass, field

# The kind of link by which an issue names its parent.
PARENT_LINK = "parent-child"
MEDIUM = 2


@dataclass(frozen=True, slots=True)
class IssueLink:
    """A dependency: this issue depends on, or belongs to, another."""

    kind: str
    other_id: str


@dataclass(frozen=True, slots=True)
class IssueComment:
    """A comment as it was written elsewhere."""

    author: str
    text: str
    written_at: int | None
    # The time as it stood there, where it could not be read.
    when: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue of a file; times in milliseconds, priority from 0, most urgent, to 4."""

    id: str
    title: str
    # (heading, text); a text without a heading comes first.
    sections: tuple[tuple[str, str], ...] = ()
    status: str = "open"
    # What the status means, in words of its own (Jira's category).
    status_meaning: str = ""
    priority: int = MEDIUM
    kind: str = "task"
    assignee: str = ""
    author: str = ""
    labels: tuple[str, ...] = ()
    links: tuple[IssueLink, ...] = ()
    remarks: tuple[IssueComment, ...] = ()
    due_date: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    closed_at: int | None = None
    closing: str = ""
    # Further lines on where it comes from: what has no field here.
    origins: tuple[str, ...] = ()
    is_deleted: bool = False
    # Where it stands in its file.
    where: str = ""

    @property
    def things(self) -> int:
        """How many tickets, comments, labels and relations it becomes at most."""
        return 1 + len(self.remarks) + len(self.labels) + len(self.links)


@dataclass(slots=True)
class Allowance:
    """How many rows may be read, of all files together; any number without ``most``."""

    most: int | None = None
    taken: int = 0

    def take(self) -> None:
        """Count a row; raises ValueError where that is one too many."""
        self.taken += 1
        if self.most is not None and self.taken > self.most:
            raise TooMuch(f"There are more than {self.most:,} rows")


class TooMuch(ValueError):
    """More is to be imported than one upload may bring."""


@dataclass(frozen=True, slots=True)
class IssueSource:
    """A file to read, and how places in it are called."""

    name: str
    content: bytes
    prefix: str = ""
    allowance: Allowance = field(default_factory=Allowance)

    def line(self, number: int) -> str:
        """What a line is called in the report."""
        return f"{self.prefix}line {number}"
