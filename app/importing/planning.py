"""Fitting any hierarchy into epic, story and subtask, parents before their children.

An epic has no parent. Below an epic is a story; anything deeper is a subtask of the story above.
Other parent links become a ``relates_to`` relation and a note.
"""

from dataclasses import dataclass

from app.importing import messages
from app.importing.issues import PARENT_LINK, Issue
from app.importing.report import ImportReport
from app.tickets.models import TicketType


@dataclass(frozen=True, slots=True)
class Planned:
    """An issue with its position in the hierarchy; ids are those of issues."""

    issue: Issue
    type: TicketType
    parent_id: str | None
    related_ids: tuple[str, ...]


def plan(issues: list[Issue], report: ImportReport) -> list[Planned]:
    """All issues, parents before their children."""
    by_id = {issue.id: issue for issue in issues}
    parents = {issue.id: _parents(issue, by_id, report) for issue in issues}
    planned: dict[str, Planned] = {}

    for issue in issues:
        # Unplanned ancestors, nearest first. Chains can be too long for recursion.
        chain: dict[str, list[str]] = {}
        current: str | None = issue.id
        while current is not None and current not in planned:
            chain[current] = []
            acyclic = [parent for parent in parents[current] if parent not in chain]
            if len(acyclic) < len(parents[current]):
                report.note(current, messages.OWN_ANCESTOR)
            chain[current] = acyclic
            current = acyclic[0] if acyclic else None
        for issue_id, acyclic in reversed(chain.items()):
            parent = planned[acyclic[0]] if acyclic else None
            planned[issue_id] = _planned(by_id[issue_id], parent, acyclic[1:], report)
    return list(planned.values())


def _parents(issue: Issue, by_id: dict[str, Issue], report: ImportReport) -> list[str]:
    parents = [link.other_id for link in issue.links if link.kind == PARENT_LINK]
    for missing in (parent for parent in parents if parent not in by_id):
        report.note(issue.id, messages.PARENT_NOT_IN_FILE, missing)
    return [parent for parent in dict.fromkeys(parents) if parent in by_id]


def _planned(
    issue: Issue, parent: Planned | None, others: list[str], report: ImportReport
) -> Planned:
    related = list(others)
    for other in others:
        report.note(issue.id, messages.SECOND_PARENT, other)
    kind, parent_id = _level(issue, parent)
    if parent is not None and parent_id != parent.issue.id:
        related.append(parent.issue.id)
        reason = messages.NESTED_TOO_DEEPLY if parent_id else messages.EPIC_WITH_PARENT
        report.note(issue.id, reason, parent.issue.id)
    return Planned(issue, kind, parent_id, tuple(related))


def _level(issue: Issue, parent: Planned | None) -> tuple[TicketType, str | None]:
    if issue.kind == TicketType.EPIC:
        return TicketType.EPIC, None
    if parent is None:
        return TicketType.STORY, None
    if parent.type is TicketType.EPIC:
        return TicketType.STORY, parent.issue.id
    if parent.type is TicketType.STORY:
        return TicketType.SUBTASK, parent.issue.id
    return TicketType.SUBTASK, parent.parent_id
