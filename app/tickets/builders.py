"""The JSON of tickets, relations, watchers and comments."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypedDict

import orjson

from app.accounts.builders import UserSummary
from app.core.clock import iso, iso_or_none
from app.tickets.models import Comment


class StateSummary(TypedDict):
    """A workflow state where another resource names one."""

    id: str
    name: str
    category: str


class LabelSummary(TypedDict):
    """A label where another resource names one."""

    id: str
    name: str
    color: str


class TicketSummary(TypedDict):
    """A ticket where another resource names one."""

    id: str
    display_id: str
    title: str
    type: str
    state: StateSummary | None


def state_summary(
    identifier: str | None, name: str | None, category: str | None
) -> StateSummary | None:
    """The summary of a state; None for a deleted ticket whose state is gone."""
    if identifier is None or name is None or category is None:
        return None
    return {"id": identifier, "name": name, "category": category}


def labels_in(found: str | None) -> list[LabelSummary]:
    """The labels of ``queries.CARRIED``, in the order in which they are shown."""
    return list(_read(found)) if found else []


@lru_cache(maxsize=1024)
def _read(found: str) -> tuple[LabelSummary, ...]:
    # A project has few labels, and many tickets the same ones: the same text says the same.
    rows = sorted(orjson.loads(found))
    return tuple(
        {"id": identifier, "name": name, "color": color} for _, identifier, name, color in rows
    )


def parent_summary(
    identifier: str,
    display_id: str,
    title: str,
    kind: str,
    state_id: str | None,
    state_name: str | None,
    state_category: str | None,
) -> TicketSummary:
    """The summary of a ticket's parent."""
    return {
        "id": identifier,
        "display_id": display_id,
        "title": title,
        "type": kind,
        "state": state_summary(state_id, state_name, state_category),
    }


# Of the fields of a ticket; the body in a list without bodies.
MAY_BE_EMPTY = (
    "body",
    "state_id",
    "state",
    "assignee_user_id",
    "assignee",
    "parent_ticket_id",
    "parent",
    "due_date",
    "deleted_at",
)


def ticket_json(
    own: Sequence[Any],
    state: StateSummary | None,
    assignee: UserSummary | None,
    reporter: UserSummary | None,
    parent: TicketSummary | None,
    labels: list[LabelSummary],
) -> dict[str, Any]:
    """A ticket, from a row of ``queries.OWN`` and what it names."""
    (
        identifier,
        display_id,
        ticket_number,
        project_id,
        kind,
        title,
        body,
        priority,
        due_date,
        created_at,
        updated_at,
        deleted_at,
        state_id,
        assignee_id,
        reporter_id,
        parent_id,
    ) = own
    return {
        "id": identifier,
        "display_id": display_id,
        "ticket_number": ticket_number,
        "project_id": project_id,
        "type": kind,
        "title": title,
        "body": body,
        "state_id": state_id,
        "state": state,
        "priority": priority,
        "assignee_user_id": assignee_id,
        "assignee": assignee,
        "reporter_user_id": reporter_id,
        "reporter": reporter,
        "parent_ticket_id": parent_id,
        "parent": parent,
        "labels": labels,
        "due_date": due_date,
        "created_at": iso(created_at),
        "updated_at": iso(updated_at),
        "deleted_at": iso_or_none(deleted_at),
    }


def comment_json(comment: Comment, author: UserSummary) -> dict[str, Any]:
    """A comment with the bodies it had before, oldest first."""
    return {
        "id": comment.id,
        "ticket_id": comment.ticket_id,
        "author_user_id": comment.author_user_id,
        "author": author,
        "body": comment.body,
        "edit_history": [
            {"body": entry["body"], "edited_at": iso(entry["edited_at"])}
            for entry in comment.edit_history
        ],
        "created_at": iso(comment.created_at),
        "updated_at": iso(comment.updated_at),
        "deleted_at": iso_or_none(comment.deleted_at),
    }


def watcher_json(user: UserSummary, created_at: int) -> dict[str, Any]:
    """A watcher of a ticket."""
    return {"user_id": user["id"], "user": user, "created_at": iso(created_at)}


def relation_json(row: Any, ticket_id: str) -> dict[str, Any]:
    """A relation, seen from the ticket with this id."""
    outgoing = row.source_ticket_id == ticket_id
    return {
        "id": row.id,
        "type": row.type,
        "direction": "outgoing" if outgoing else "incoming",
        "ticket": {
            "id": row.other_id,
            "display_id": row.other_display_id,
            "title": row.other_title,
            "type": row.other_type,
            "state": state_summary(row.state_id, row.state_name, row.state_category),
        },
        "source_ticket_id": row.source_ticket_id,
        "target_ticket_id": row.target_ticket_id,
        "created_by_user_id": row.created_by_user_id,
        "created_at": iso(row.created_at),
    }
