"""What an import did, and what it could not map, and why."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from app.core import text


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One issue of a file, and what becomes of it."""

    where: str
    issue: str
    # "ticket", "there already" or "left out".
    outcome: str
    title: str = ""
    type: str = ""
    state: str = ""
    priority: str = ""
    assignee: str = ""
    ticket: str = ""

    def as_text(self) -> str:
        """The row as a line."""
        fields = (self.ticket, self.type, self.state, self.priority, self.assignee, self.title)
        said = "  ".join(field for field in fields if field)
        return f"{self.where}: {self.issue}: {self.outcome}" + (f": {said}" if said else "")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not as it was in the file: how often, and where for one."""

    text: str
    count: int
    example: str


@dataclass(slots=True)
class ImportReport:
    """Counts of what was made, and every deviation with its reason."""

    made: Counter[str] = field(default_factory=Counter)
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    rows: list[ReportRow] = field(default_factory=list)

    def note(self, external_id: str, reason: str, detail: str = "") -> None:
        """Remember that something of this issue is not in the tickets as it was in the file."""
        self.notes.append((external_id, reason, detail))

    def refuse(self, where: str, reason: str, detail: str = "") -> None:
        """Remember a line of the file of which nothing was taken."""
        self.note(where, reason, detail)
        self.rows.append(ReportRow(where, "?", "left out"))

    def as_json(self) -> dict[str, Any]:
        """The report for a script."""
        return {
            "made": dict(self.made),
            "notes": [
                {"issue": issue, "reason": reason, "detail": detail}
                for issue, reason, detail in self.notes
            ],
            "rows": [asdict(row) for row in self.rows],
        }

    def as_text(self, *, verbose: bool = False) -> str:
        """The report for a person: counts, then each reason with its number and an example."""
        lines: list[str] = []
        if verbose:
            lines += [row.as_text() for row in self.rows]
            lines += [
                f"  {issue}: {reason} {detail}".rstrip() for issue, reason, detail in self.notes
            ]
        # The sum stands last, where it is seen.
        lines += [f"{count:6d} {what}" for count, what in self.counts()] or ["nothing to add"]
        reasons = self.reasons()
        if reasons:
            lines.append("Not mapped as it was, by reason:")
        lines += [f"{one.count:6d} x {one.text} (such as {one.example})" for one in reasons]
        return "\n".join(lines)

    def counts(self) -> list[tuple[int, str]]:
        """How many of what was made, or would be."""
        return [(count, text.named(count, what)) for what, count in self.made.items()]

    def reasons(self) -> list[Reason]:
        """The reasons of all notes, the most frequent first."""
        first: dict[str, str] = {}
        for issue, reason, detail in self.notes:
            first.setdefault(reason, f"{issue} {detail}".strip())
        counted = Counter(reason for _, reason, _ in self.notes)
        return [Reason(reason, count, first[reason]) for reason, count in counted.most_common()]
