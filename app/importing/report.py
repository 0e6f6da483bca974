"""What an import did and could not map, for one run and summed over several requests."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from app.core import text
from app.core.ids import as_uuid
from app.importing import messages

# Limits of ``SoFar``: the number of kinds and of reasons, and the length of each text.
MAX_ENTRIES = 50
MAX_LENGTH = 300
# The prefix of the generated names of rows without an id.
UNNAMED = "row "


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One issue of a file and its outcome: "ticket", "already imported", "skipped" or "pending"."""

    where: str
    issue: str
    outcome: str
    title: str = ""
    type: str = ""
    state: str = ""
    priority: str = ""
    assignee: str = ""
    ticket: str = ""

    def as_text(self) -> str:
        fields = (self.ticket, self.type, self.state, self.priority, self.assignee, self.title)
        details = "  ".join(field for field in fields if field)
        return f"{self.where}: {self.issue}: {self.outcome}" + (f": {details}" if details else "")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something differs from the file, how often, and one example."""

    text: str
    count: int
    example: str


@dataclass(slots=True)
class ImportReport:
    """Counts of created rows by kind, and every deviation from the file with its reason."""

    created: Counter[str] = field(default_factory=Counter)
    # (issue, reason, detail)
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    rows: list[ReportRow] = field(default_factory=list)

    def note(self, external_id: str, reason: str, detail: str = "") -> None:
        """Note that a ticket differs from its issue."""
        self.notes.append((external_id, reason, detail))

    def refuse(self, where: str, reason: str, detail: str = "") -> None:
        """Note a line of the file that cannot be read as an issue."""
        self.note(where, reason, detail)
        self.rows.append(ReportRow(where, "?", "skipped"))

    def as_json(self) -> dict[str, Any]:
        return {
            "made": dict(self.created),
            "notes": [
                {"issue": issue, "reason": reason, "detail": detail}
                for issue, reason, detail in self.notes
            ],
            "rows": [asdict(row) for row in self.rows],
        }

    def as_text(self, *, verbose: bool = False) -> str:
        """The counts, then each reason; with ``verbose`` every row and note before them."""
        lines: list[str] = []
        if verbose:
            lines += [row.as_text() for row in self.rows]
            lines += [
                f"  {issue}: {reason} {detail}".rstrip() for issue, reason, detail in self.notes
            ]
        lines += [
            f"{count:6d} {text.pluralize(count, kind)}" for kind, count in self.created.items()
        ] or [messages.NOTHING_TO_IMPORT]
        reasons = self.reasons()
        if reasons:
            lines.append(messages.CHANGED)
        lines += [messages.reason(one.count, one.text, one.example) for one in reasons]
        return "\n".join(lines)

    def reasons(self) -> list[Reason]:
        """The reasons of the notes, most frequent first."""
        examples: dict[str, str] = {}
        for issue, reason, detail in self.notes:
            examples.setdefault(reason, _example(issue, detail))
        counts = Counter(reason for _, reason, _ in self.notes)
        return [Reason(reason, count, examples[reason]) for reason, count in counts.most_common()]


def _example(issue: str, detail: str) -> str:
    """The detail and its issue; omits generated names of rows, which users do not know."""
    if not detail:
        return issue
    return f"“{detail}”" if issue.startswith(UNNAMED) else messages.detail_in(detail, issue)


@dataclass(slots=True)
class SoFar:
    """The totals of all requests of one import.

    The server stores nothing about an import, so the page sends this with each request. It is only
    shown to the person who sent it.
    """

    created: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    # The ids of requests that created something, which are used to undo the import.
    request_ids: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, value: str) -> "SoFar":
        """Parse the text of ``to_send``, cut to the limits; empty for any other text."""
        try:
            totals = orjson.loads(value)
            created = {
                str(kind)[:MAX_LENGTH]: int(count) for kind, count in totals["made"][:MAX_ENTRIES]
            }
            reasons = [
                Reason(str(reason)[:MAX_LENGTH], int(count), str(example)[:MAX_LENGTH])
                for reason, count, example in totals["reasons"][:MAX_ENTRIES]
            ]
            sent = [as_uuid(str(one)) for one in totals.get("requests", ())[:MAX_ENTRIES]]
        except (ValueError, TypeError, KeyError):
            return cls()
        return cls(created, {one.text: one for one in reasons}, [one for one in sent if one])

    def plus(self, report: ImportReport, request_id: str | None = None) -> "SoFar":
        created = dict(self.created)
        for kind, count in report.created.items():
            created[kind] = created.get(kind, 0) + count
        reasons = dict(self.reasons)
        for one in report.reasons():
            known = reasons.get(one.text)
            count, example = (known.count, known.example) if known else (0, one.example)
            reasons[one.text] = Reason(one.text, count + one.count, example[:MAX_LENGTH])
        requests = list(self.request_ids)
        if request_id is not None and report.created.total():
            requests.append(request_id)
        return SoFar(created, reasons, requests)

    def to_send(self) -> str:
        reasons = [(one.text, one.count, one.example) for one in self.most_frequent()]
        sums = {"made": list(self.created.items()), "reasons": reasons}
        return orjson.dumps({**sums, "requests": self.request_ids}).decode()

    def counts(self) -> list[tuple[int, str]]:
        return [(count, text.pluralize(count, kind)) for kind, count in self.created.items()]

    def most_frequent(self) -> list[Reason]:
        return sorted(self.reasons.values(), key=lambda reason: -reason.count)[:MAX_ENTRIES]
