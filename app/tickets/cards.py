"""Cards: the data of tickets on a board, read in two statements for any number of them."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, bindparam, case, cast, func, literal, null, select, union_all

from app.accounts.builders import UserSummary
from app.audit.models import AuditEvent
from app.core.actor import ActorKind
from app.core.clock import MINUTE_MS, now_ms
from app.database.columns import Id, shared_alias
from app.database.session import AnyRow, Prepared
from app.http import current
from app.projects.models import StateCategory, WorkflowState
from app.tickets import stalled_bots
from app.tickets.models import Comment, Priority, Ticket, TicketRelation, TicketType
from app.tickets.read import LABELS, Parent, labels_in
from app.tickets.relations import is_open_blocker

RANKS = {Priority.URGENT: 0, Priority.HIGH: 1, Priority.MEDIUM: 2, Priority.LOW: 3}
# Sorts after every date.
NO_DATE = "9999-99-99"
# How long a card shows that a bot acted on its ticket.
TOUCH_MS = 15 * MINUTE_MS
# The swimlane of cards without an assignee, epic or label.
NONE = "none"


class BoardOrder(StrEnum):
    """The orders of the cards of a column."""

    RANK = "rank"
    PRIORITY = "priority"
    DUE = "due"
    UPDATED = "updated"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "BoardOrder":
        """The order that ``sort`` requests in an address or a form."""
        order = values.get("sort", "")
        return cls(order) if order in set(cls) else cls.RANK


GROUPINGS = ("assignee", "epic", "priority", "label")

Grand = shared_alias(Ticket, "grand")
_is_epic = Parent.type == TicketType.EPIC.value

SOURCE = (
    select(
        Ticket.id,
        Ticket.project_id,
        Ticket.display_id,
        Ticket.type,
        Ticket.title,
        Ticket.priority,
        Ticket.due_date,
        Ticket.rank,
        Ticket.updated_at,
        Ticket.state_id,
        Ticket.assignee_user_id,
        WorkflowState.category,
        case((_is_epic, Parent.id), else_=Grand.id).label("epic_id"),
        case((_is_epic, Parent.title), else_=Grand.title).label("epic_title"),
        LABELS,
    )
    .join(WorkflowState, WorkflowState.id == Ticket.state_id)
    .outerjoin(Parent, Parent.id == Ticket.parent_ticket_id)
    .outerjoin(Grand, Grand.id == Parent.parent_ticket_id)
)

Card = dict[str, Any]


@dataclass(slots=True)
class Parts:
    """Counts and times of a ticket's children, blockers, comments and bot events."""

    children: int = 0
    done: int = 0
    blockers: int = 0
    comments: int = 0
    touched_at: int = 0
    touched_by: str | None = None
    # The last event (ms) of the bot to which the ticket is assigned.
    last_sign_at: int = 0


def build(
    rows: Sequence[AnyRow],
    users: dict[str, UserSummary],
    *,
    grouping: str,
    by_category: bool,
    order: BoardOrder,
) -> list[Card]:
    """The cards of rows of ``SOURCE``; their column is a state, or a category."""
    parts = parts_of([row.id for row in rows])
    cards = []
    for row in rows:
        column = row.category if by_category else row.state_id
        card = _card(row, users, parts.get(row.id, Parts()), column)
        card["sort_key"] = _sort_key(row, order)
        card["swimlane"] = swimlane_of(row, grouping)
        card["look"] = repr(card)
        # Browsers compare cards by this, and leave unchanged cards alone.
        card["version"] = f"{zlib.crc32(card['look'].encode()):08x}"
        cards.append(card)
    return cards


def _card(row: AnyRow, users: dict[str, UserSummary], parts: Parts, column: str) -> Card:
    is_done = row.category == StateCategory.DONE
    is_overdue = bool(row.due_date and row.due_date < current.today().isoformat() and not is_done)
    is_stalled = parts.last_sign_at and stalled_bots.is_stalled(parts.last_sign_at)
    return {
        "id": row.id,
        "display_id": row.display_id,
        "type": row.type,
        "title": row.title,
        "priority": row.priority,
        "due_date": row.due_date,
        "overdue": is_overdue,
        "place": column,
        "assignee": users.get(row.assignee_user_id or ""),
        "labels": labels_in(row.labels),
        "epic_id": row.epic_id,
        "epic": row.epic_title,
        "children": parts.children,
        "children_done": parts.done,
        "blockers": 0 if is_done else parts.blockers,
        "comments": parts.comments,
        "touched_at": parts.touched_at,
        "touched_by": users.get(parts.touched_by or ""),
        "stalled_since": parts.last_sign_at if is_stalled else 0,
    }


def _sort_key(row: AnyRow, order: BoardOrder) -> str:
    """A text by which browsers sort the card."""
    due = row.due_date or NO_DATE
    match order:
        case BoardOrder.RANK:
            return str(row.rank)
        case BoardOrder.PRIORITY:
            return f"{RANKS[Priority(row.priority)]} {due}"
        case BoardOrder.DUE:
            return f"{due} {row.rank}"
        case BoardOrder.UPDATED:
            # The newest comes first.
            return f"{10**14 - row.updated_at}"


def swimlane_of(row: AnyRow, grouping: str) -> str:
    """The swimlane of a row of ``SOURCE``; of several labels, the first by name counts."""
    if grouping == "assignee":
        return row.assignee_user_id or NONE
    if grouping == "epic":
        return row.epic_id or NONE
    if grouping == "priority":
        return str(row.priority)
    if grouping == "label":
        labels = labels_in(row.labels)
        return labels[0]["id"] if labels else NONE
    return ""


def _all_parts() -> Prepared:
    """A union in which each row fills a part of ``Parts`` for one of ``ticket_ids``."""
    ticket_ids: Any = bindparam("ticket_ids", expanding=True)
    is_done = WorkflowState.category == StateCategory.DONE.value
    nobody = cast(null(), Id)
    zero = literal(0, BigInteger)
    below = (
        select(
            literal("below").label("kind"),
            Ticket.parent_ticket_id.label("id"),
            func.count().label("many"),
            func.sum(case((is_done, 1), else_=0)).label("some"),
            nobody.label("who"),
        )
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(Ticket.parent_ticket_id.in_(ticket_ids), Ticket.deleted_at.is_(None))
        .group_by(Ticket.parent_ticket_id)
    )
    blocking = (
        select(literal("blocking"), TicketRelation.target_ticket_id, func.count(), zero, nobody)
        .join(Ticket, Ticket.id == TicketRelation.source_ticket_id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(TicketRelation.target_ticket_id.in_(ticket_ids), is_open_blocker())
        .group_by(TicketRelation.target_ticket_id)
    )
    said = (
        select(literal("said"), Comment.ticket_id, func.count(), zero, nobody)
        .where(Comment.ticket_id.in_(ticket_ids), Comment.deleted_at.is_(None))
        .group_by(Comment.ticket_id)
    )
    touched = (
        select(
            literal("touched"),
            AuditEvent.ticket_id,
            func.max(AuditEvent.created_at),
            zero,
            AuditEvent.actor_user_id,
        )
        .where(
            AuditEvent.ticket_id.in_(ticket_ids),
            AuditEvent.created_at >= bindparam("touched_since"),
            AuditEvent.actor_kind == ActorKind.BOT.value,
        )
        .group_by(AuditEvent.ticket_id, AuditEvent.actor_user_id)
    )
    signs = stalled_bots.last_signs().where(Ticket.id.in_(ticket_ids)).subquery()
    held = select(literal("held"), signs.c.id, signs.c.at, zero, nobody)
    return Prepared(union_all(below, blocking, said, touched, held))


_PARTS = _all_parts()


def parts_of(ticket_ids: Sequence[str]) -> dict[str, Parts]:
    """The parts by ticket id, in one statement; a ticket without any is omitted."""
    if not ticket_ids:
        return {}
    parts_by_id: dict[str, Parts] = {}
    values = {"ticket_ids": list(ticket_ids), "touched_since": now_ms() - TOUCH_MS}
    for row in _PARTS.all(**values):
        parts = parts_by_id.setdefault(row.id, Parts())
        if row.kind == "below":
            parts.children, parts.done = row.many, row.some
        elif row.kind == "blocking":
            parts.blockers = row.many
        elif row.kind == "said":
            parts.comments = row.many
        elif row.kind == "held":
            parts.last_sign_at = row.many
        elif row.many > parts.touched_at:
            parts.touched_at, parts.touched_by = row.many, row.who
    return parts_by_id
