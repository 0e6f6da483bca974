"""A ticket as it was at a time: its current values, with each later change in the log reverted.

Fields that the log does not cover are named in ``not_recorded``. People, labels, states and the
parent have their current names, or the last one that they had.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select

from app.accounts import user_refs
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none, now_ms
from app.core.errors import Gone, InvalidField, NotFound
from app.core.ids import created_ms
from app.database.session import AnyRow, session
from app.projects.models import Label, Project, WorkflowState
from app.tickets import messages, read
from app.tickets.models import Ticket
from app.tickets.read import LabelSummary, StateSummary

# Events that are read in one query.
CHUNK = 500
# The most changes that a slider covers.
MAX_TIMES = 200
CREATED, DELETED = "ticket.created", "ticket.deleted"
_CHANGES = (
    CREATED,
    "ticket.updated",
    "ticket.state_changed",
    "ticket.assigned",
    DELETED,
    "ticket.restored",
)
# The payload field that names the state of the ticket after the event, by event type.
_NAME_STATE = {
    CREATED: "state_id",
    "ticket.state_changed": "to_state_id",
    "ticket.restored": "state_id",
}
_COMMENTS = ("comment.created", "comment.updated", "comment.deleted", "comment.restored")
_DISCUSSION = (
    *_COMMENTS,
    *("ticket.relation_added", "ticket.relation_removed"),
    *("ticket.link_added", "ticket.link_removed"),
)
_LABEL_DELETED, _STATE_DELETED = "label.deleted", "workflow_state.deleted"
# The columns that are shown as they were, and not as they are.
_VALUES = (
    "title",
    "body",
    "state_id",
    "priority",
    "assignee_user_id",
    "reporter_user_id",
    "parent_ticket_id",
    "due_date",
    "rank",
    "deleted_at",
)
LABELS = "labels"


@dataclass(slots=True)
class PastTicket:
    """The values of a ticket while its changes are reverted, newest first."""

    values: dict[str, Any]
    label_ids: set[str]
    not_recorded: set[str] = field(default_factory=set)
    # Whether the log says that the ticket was created later.
    is_before_log: bool = False
    # A deleted ticket loses a deleted state, and is restored into the first state.
    was_deleted: bool = False

    def take_back(self, event: AnyRow, ticket_id: str) -> None:
        payload = event.payload
        match event.event_type:
            case "ticket.created":
                self.is_before_log = True
            case "ticket.updated":
                self._take_back_changes(payload["changes"])
            case "ticket.state_changed":
                self.values["state_id"] = payload["from_state_id"]
            case "ticket.assigned":
                self.values["assignee_user_id"] = payload["from_user_id"]
            case "ticket.deleted":
                self.values["deleted_at"] = None
                self.was_deleted = True
            case "ticket.restored":
                # Counts as deleted until the event of the deletion is found.
                self.values["deleted_at"] = event.created_at
                self.was_deleted = True
            case _:
                self._take_back_label(payload, ticket_id)

    def _take_back_changes(self, changes: dict[str, dict[str, Any]]) -> None:
        for name, change in changes.items():
            if name == "label_ids":
                self.label_ids = set(change["from"] or ())
                self.not_recorded.discard(LABELS)
            else:
                self.values[name] = change["from"]

    def _take_back_label(self, payload: dict[str, Any], ticket_id: str) -> None:
        """Revert a label's deletion; without the ids of its tickets, labels are not recorded."""
        ticket_ids = payload.get("ticket_ids")
        if ticket_ids is None:
            self.not_recorded.add(LABELS)
        elif ticket_id in ticket_ids:
            self.label_ids.add(payload["label_id"])


@operation(Access.READ)
def get_ticket_at(
    actor: Actor, reference: str, *, at: int, include_deleted: bool = False
) -> dict[str, Any]:
    """The ticket as it was at a time (ms), with ``at`` and ``not_recorded``.

    Raises the errors of ``get_ticket``, NotFound if it was not yet created, Gone if it was deleted
    at that time, and InvalidField ``at`` for a time before the log contains the ticket.
    """
    row = read.get_ticket(actor, reference, include_deleted=include_deleted).row
    at = min(at, now_ms())
    if at < row.created_at:
        raise NotFound("ticket", reference)
    past = _past(row, at)
    if past.is_before_log and row.created_at != created_ms(row.id):
        raise InvalidField("at", "not_recorded", messages.NOT_IN_LOG)
    if past.values["deleted_at"] is not None:
        if not include_deleted:
            raise Gone("ticket", reference)
        past.values["deleted_at"] = _deleted_at(row.id, at)
    return _json(row, past, at)


@operation(Access.READ)
def change_times(actor: Actor, reference: str) -> list[int]:
    """The times (ms) of the latest changes of a ticket, oldest first; at least one."""
    row = read.get_ticket(actor, reference).row
    newest_first = (
        select(AuditEvent.created_at)
        .where(AuditEvent.ticket_id == row.id, AuditEvent.event_type.in_(_CHANGES))
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(MAX_TIMES)
    )
    return sorted(set(session.scalars(newest_first))) or [row.updated_at]


def _past(row: AnyRow, at: int) -> PastTicket:
    present = read.ticket_json(row)
    past = PastTicket(
        {name: getattr(row, name) for name in _VALUES},
        {label["id"] for label in present["labels"]},
    )
    for event in _events_after(row.id, row.project_id, at):
        past.take_back(event, row.id)
    if past.was_deleted or past.values["state_id"] is None:
        past.values["state_id"] = _state_before(row, at, past.values["state_id"])
    if LABELS in past.not_recorded:
        known = _labels_before(row.id, row.project_id, at)
        if known is not None:
            past.label_ids = known
            past.not_recorded.discard(LABELS)
    return past


def _state_before(row: AnyRow, at: int, otherwise: str | None) -> str | None:
    """The state in the last event until ``at`` that names it; None if it was deleted by then."""
    until = AuditEvent.created_at <= at
    of_ticket = and_(AuditEvent.ticket_id == row.id, AuditEvent.event_type.in_(_NAME_STATE))
    for event in _newest_first(of_ticket, until):
        named = event.payload.get(_NAME_STATE[event.event_type])
        if named is not None:
            deletion = select(AuditEvent.id).where(
                AuditEvent.event_type == _STATE_DELETED,
                AuditEvent.project_id == row.project_id,
                AuditEvent.target_id == named,
            )
            return named if session.scalar(deletion.where(until)) is None else None
    return otherwise


def _labels_before(ticket_id: str, project_id: str, at: int) -> set[str] | None:
    """The labels in the last event until ``at`` that names them, without those deleted after it.

    None if there is none: older releases did not record the labels of a new ticket.
    """
    until = AuditEvent.created_at <= at
    of_ticket = and_(
        AuditEvent.ticket_id == ticket_id,
        AuditEvent.event_type.in_((CREATED, "ticket.updated")),
    )
    for event in _newest_first(of_ticket, until):
        if event.event_type == CREATED:
            named = event.payload.get("label_ids")
        else:
            named = event.payload["changes"].get("label_ids", {}).get("to")
        if named is not None:
            later = and_(until, AuditEvent.created_at >= event.created_at)
            deleted = _newest_first(_deletions_of_labels(project_id), later)
            return set(named) - {one.payload["label_id"] for one in deleted}
    return None


def _deletions_of_labels(project_id: str) -> ColumnElement[bool]:
    return and_(AuditEvent.event_type == _LABEL_DELETED, AuditEvent.project_id == project_id)


def _events_after(ticket_id: str, project_id: str, at: int) -> Iterator[AnyRow]:
    """The later changes of the ticket, and deletions of labels, newest first."""
    of_ticket = and_(AuditEvent.ticket_id == ticket_id, AuditEvent.event_type.in_(_CHANGES))
    later = AuditEvent.created_at > at
    labels = _newest_first(_deletions_of_labels(project_id), later)
    label = next(labels, None)
    for event in _newest_first(of_ticket, later):
        while label is not None and (label.created_at, label.id) > (event.created_at, event.id):
            yield label
            label = next(labels, None)
        yield event
    while label is not None:
        yield label
        label = next(labels, None)


def _newest_first(condition: ColumnElement[bool], span: ColumnElement[bool]) -> Iterator[AnyRow]:
    columns = (AuditEvent.id, AuditEvent.event_type, AuditEvent.payload, AuditEvent.created_at)
    ordered = (
        select(*columns)
        .where(condition, span)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(CHUNK)
    )
    statement = ordered
    while True:
        rows = session.execute(statement).all()
        yield from rows
        if len(rows) < CHUNK:
            return
        last = rows[-1]
        statement = ordered.where(
            AuditEvent.created_at <= last.created_at,
            or_(AuditEvent.created_at < last.created_at, AuditEvent.id < last.id),
        )


def _last_at(ticket_id: str, types: Sequence[str], at: int) -> int:
    statement = select(func.max(AuditEvent.created_at)).where(
        AuditEvent.ticket_id == ticket_id,
        AuditEvent.event_type.in_(types),
        AuditEvent.created_at <= at,
    )
    return session.scalar(statement) or 0


def _deleted_at(ticket_id: str, at: int) -> int | None:
    return _last_at(ticket_id, (DELETED,), at) or None


def _json(row: AnyRow, past: PastTicket, at: int) -> dict[str, Any]:
    values = past.values
    state = _state(row.project_id, values["state_id"])
    labels = _labels(row.project_id, past.label_ids)
    if values["state_id"] is not None and state is None:
        past.not_recorded.add("state")
    if len(labels) < len(past.label_ids):
        past.not_recorded.add(LABELS)
    spread_at = session.scalar(select(Project.ranks_spread_at).where(Project.id == row.project_id))
    if spread_at is not None and spread_at > at:
        # A later rebalancing shortened ranks, which the log does not record.
        past.not_recorded.add("rank")
    people = user_refs.summaries(
        user_id
        for user_id in (values["assignee_user_id"], values["reporter_user_id"])
        if user_id is not None
    )
    updated_at = max(_last_at(row.id, _CHANGES, at), row.created_at)
    return {
        **read.ticket_json(row),
        **values,
        "state": state,
        "assignee": people.get(values["assignee_user_id"]),
        "reporter": people.get(values["reporter_user_id"]),
        "parent": _parent(values["parent_ticket_id"]),
        "labels": labels,
        "updated_at": iso(updated_at),
        "last_activity_at": iso(max(updated_at, _last_at(row.id, _DISCUSSION, at))),
        "deleted_at": iso_or_none(values["deleted_at"]),
        "at": iso(at),
        "not_recorded": sorted(past.not_recorded),
    }


def _state(project_id: str, state_id: str | None) -> StateSummary | None:
    """The state, even if it was deleted; None if neither it nor its deletion is known."""
    if state_id is None:
        return None
    state = session.get(WorkflowState, state_id)
    if state is not None:
        return read.state_summary(state.id, state.name, state.category)
    deleted = _deletions(_STATE_DELETED, project_id, {state_id}).get(state_id)
    return read.state_summary(state_id, deleted["name"], deleted["category"]) if deleted else None


def _labels(project_id: str, label_ids: set[str]) -> list[LabelSummary]:
    """The labels by name, including deleted ones."""
    found: dict[str, LabelSummary] = {
        label.id: {"id": label.id, "name": label.name, "color": label.color}
        for label in session.scalars(select(Label).where(Label.id.in_(label_ids)))
    }
    for label_id, payload in _deletions(
        _LABEL_DELETED, project_id, label_ids - found.keys()
    ).items():
        found[label_id] = {"id": label_id, "name": payload["name"], "color": payload["color"]}
    return sorted(found.values(), key=lambda label: (label["name"].casefold(), label["id"]))


def _deletions(event_type: str, project_id: str, ids: set[str]) -> dict[str, dict[str, Any]]:
    """The payloads of the events that deleted these labels or states, by their ids."""
    if not ids:
        return {}
    statement = select(AuditEvent.target_id, AuditEvent.payload).where(
        AuditEvent.event_type == event_type,
        AuditEvent.project_id == project_id,
        AuditEvent.target_id.in_(ids),
    )
    return {row.target_id: row.payload for row in session.execute(statement)}


def _parent(ticket_id: str | None) -> dict[str, Any] | None:
    if ticket_id is None:
        return None
    row = session.execute(read.BODILESS.where(Ticket.id == ticket_id)).one()
    parent = read.ticket_json(row)
    return {name: parent[name] for name in ("id", "display_id", "title", "type", "state")}
