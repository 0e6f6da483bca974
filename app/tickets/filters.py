"""The table of ticket filters, which REST, tools, pages and exports share.

Their input is parsed in ``schemas.py`` (REST), ``tools/ticket_fields.py`` and ``pages/filters.py``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, or_, select
from sqlalchemy.orm import aliased

from app.core.clock import DAY_MS, now_ms
from app.http import current
from app.projects.models import StateCategory, WorkflowState
from app.tickets import due_dates, messages, stalled_bots
from app.tickets.models import (
    DUE_DATE_OR_LAST,
    Comment,
    Priority,
    Ticket,
    TicketLabel,
    TicketRelation,
    TicketType,
)
from app.tickets.relations import is_open_blocker

Condition = Callable[[Any], ColumnElement[bool]]


def _is_many(value: Any) -> bool:
    """Whether a value means any of several: a list, a query, or a list parameter."""
    return isinstance(value, list | Select) or bool(getattr(value, "expanding", False))


def _is(column: Any) -> Condition:
    """The column has this value, or any of a list; None in the list matches null."""

    def condition(value: Any) -> ColumnElement[bool]:
        if isinstance(value, list) and None in value:
            values = [item for item in value if item is not None]
            return or_(column.in_(values), column.is_(None)) if values else column.is_(None)
        fits: ColumnElement[bool] = column.in_(value) if _is_many(value) else column == value
        return fits

    return condition


def _has_label(value: Any) -> ColumnElement[bool]:
    fits = _is(TicketLabel.label_id)(value)
    return Ticket.id.in_(select(TicketLabel.ticket_id).where(fits))


def is_blocked() -> ColumnElement[bool]:
    """An open, live ticket of a live project blocks the ticket."""
    blocker = aliased(Ticket, name="blocker")
    blocker_state = aliased(WorkflowState, name="blocker_state")
    return exists(
        select(TicketRelation.id)
        .join(blocker, blocker.id == TicketRelation.source_ticket_id)
        .join(blocker_state, blocker_state.id == blocker.state_id)
        .where(
            TicketRelation.target_ticket_id == Ticket.id, is_open_blocker(blocker, blocker_state)
        )
    )


def is_ready() -> ColumnElement[bool]:
    """Work that can be started: a live, open, unassigned story or subtask without a blocker."""
    return (
        Ticket.type.in_([TicketType.STORY.value, TicketType.SUBTASK.value])
        & Ticket.assignee_user_id.is_(None)
        & Ticket.deleted_at.is_(None)
        & (WorkflowState.category != StateCategory.DONE.value)
        & ~is_blocked()
    )


DUE = {
    "overdue": messages.OVERDUE,
    "today": messages.TODAY,
    "this_week": messages.THIS_WEEK,
    "next_week": messages.NEXT_WEEK,
    "none": messages.NO_DUE_DATE,
}


def _is_due(words: list[str]) -> ColumnElement[bool]:
    """Due at any of these times, relative to today; only tickets that are not done are overdue."""
    today = current.today()
    monday, sunday = due_dates.week_of(today)
    week = timedelta(days=7)
    is_open = WorkflowState.category != StateCategory.DONE.value
    # The expression of the index. PostgreSQL has statistics only about the column.
    due = DUE_DATE_OR_LAST
    is_past = (due < today.isoformat()) & (Ticket.due_date < today.isoformat())
    times = {
        "overdue": is_past & is_open,
        "today": due == today.isoformat(),
        "this_week": due.between(monday.isoformat(), sunday.isoformat()),
        "next_week": due.between((monday + week).isoformat(), (sunday + week).isoformat()),
        "none": Ticket.due_date.is_(None),
    }
    return or_(*(times[word] for word in words))


UNTOUCHED = {days: messages.days(days) for days in ("7", "14", "30", "90")}


def _is_untouched(days: list[str]) -> ColumnElement[bool]:
    """Neither changed nor commented on for the smallest number of these days."""
    since = now_ms() - min(map(int, days)) * DAY_MS
    commented = exists(
        select(Comment.id).where(Comment.ticket_id == Ticket.id, Comment.created_at >= since)
    )
    return (Ticket.updated_at < since) & ~commented


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a ticket joined with its state, and how menus show it.

    Values are not checked here, so any value that a schema accepts must suit the column.
    """

    # Takes a value, or a list of values, any of which may match.
    condition: Condition
    # Its name in menus of pages; menus omit filters without one.
    label: str = ""
    # Its allowed words, in the order of menus; if empty, its values are ids.
    words: tuple[str, ...] = ()
    is_flag: bool = False


PRIORITIES = tuple(str(level) for level in reversed(Priority))
KINDS = (TicketType.STORY.value, TicketType.SUBTASK.value, TicketType.EPIC.value)
CATEGORIES = tuple(str(category) for category in StateCategory)
# As a value of ``state_category``: every category but done.
OPEN = "open"

FILTERS = {
    "project_id": Filter(_is(Ticket.project_id), messages.PROJECT),
    "state_id": Filter(_is(Ticket.state_id), messages.STATE),
    "state_category": Filter(_is(WorkflowState.category), messages.STATE, CATEGORIES),
    "assignee_user_id": Filter(_is(Ticket.assignee_user_id), messages.ASSIGNEE),
    "reporter_user_id": Filter(_is(Ticket.reporter_user_id)),
    "label_id": Filter(_has_label, messages.LABEL),
    "ticket_type": Filter(_is(Ticket.type), messages.TYPE, KINDS),
    "priority": Filter(_is(Ticket.priority), messages.PRIORITY, PRIORITIES),
    "parent_ticket_id": Filter(_is(Ticket.parent_ticket_id), messages.PARENT),
    "updated_since": Filter(lambda moment: Ticket.updated_at >= moment),
    "due": Filter(_is_due, messages.DUE, tuple(DUE)),
    "untouched": Filter(_is_untouched, messages.NOT_UPDATED_FOR, tuple(UNTOUCHED)),
    "ready": Filter(lambda _: is_ready(), messages.READY, is_flag=True),
    "blocked": Filter(lambda _: is_blocked(), messages.BLOCKED, is_flag=True),
    # The name in addresses of pages, which people bookmark; the second is that of REST and tools.
    "quiet": Filter(lambda _: stalled_bots.has_stalled_bot(), messages.STALLED_BOTS, is_flag=True),
    "stalled": Filter(lambda _: stalled_bots.has_stalled_bot()),
    # A list of ids, or a query for ids.
    "among": Filter(Ticket.id.in_),
}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The filters with a value; None and False are omitted. ``open`` becomes its categories."""
    present = {
        name: value for name, value in values.items() if value is not None and value is not False
    }
    if present.get("state_category") == OPEN:
        present["state_category"] = [word for word in CATEGORIES if word != StateCategory.DONE]
    return present


def conditions(given: Iterable[tuple[str, Any]]) -> list[ColumnElement[bool]]:
    return [FILTERS[name].condition(value) for name, value in given]
