"""What the requests of one import have made together.

The server keeps nothing of an import, so its page brings this along from one request to the next.
It is only shown, to whoever sent it.
"""

from dataclasses import dataclass, field

import orjson

from app.core import text
from app.importing.report import ImportReport, Reason

# Different things are made, and different reasons are told, a few of each.
MOST = 50
LONGEST = 300


@dataclass(slots=True)
class SoFar:
    """How many of each thing were made, and why something is not as it was in the file."""

    made: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: str) -> "SoFar":
        """As ``sent`` by the page; nothing where that is no such thing."""
        try:
            found = orjson.loads(sent)
            made = {str(what)[:LONGEST]: int(count) for what, count in found["made"][:MOST]}
            reasons = [
                Reason(str(why)[:LONGEST], int(count), str(example)[:LONGEST])
                for why, count, example in found["reasons"][:MOST]
            ]
        except (ValueError, TypeError, KeyError):
            return cls()
        return cls(made, {one.text: one for one in reasons})

    def and_then(self, report: ImportReport) -> "SoFar":
        """With what a further request made."""
        made = dict(self.made)
        for what, count in report.made.items():
            made[what] = made.get(what, 0) + count
        reasons = dict(self.reasons)
        for one in report.reasons():
            before = reasons.get(one.text)
            count, example = (before.count, before.example) if before else (0, one.example)
            reasons[one.text] = Reason(one.text, count + one.count, example[:LONGEST])
        return SoFar(made, reasons)

    def to_send(self) -> str:
        """For the page, to be sent with the next request."""
        reasons = [(one.text, one.count, one.example) for one in self.most_frequent()]
        return orjson.dumps({"made": list(self.made.items()), "reasons": reasons}).decode()

    def counts(self) -> list[tuple[int, str]]:
        """How many of what was made."""
        return [(count, text.named(count, what)) for what, count in self.made.items()]

    def most_frequent(self) -> list[Reason]:
        """The reasons, the most frequent first."""
        return sorted(self.reasons.values(), key=lambda one: -one.count)[:MOST]
