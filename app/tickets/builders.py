"""The JSON of tickets, relations, watchers and comments (decisions.md, section 2)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypedDict

import orjson

from app.accounts.builders import UserSummary, user_summary
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
    """The labels of ``queries.COLUMNS``, in the order in which they are shown."""
    return list(_read(found)) if found else []


@lru_cache(maxsize=1024)
def _read(found: str) -> tuple[LabelSummary, ...]:
    # A project has few labels, and many tickets the same ones: the same text says the same.
    rows = sorted(orjson.loads(found))
    return tuple(
        {"id": identifier, "name": name, "color": color} for _, identifier, name, color in rows
    )


def ticket_json(row: Sequence[Any]) -> dict[str, Any]:
    """A ticket, from a row of ``queries.COLUMNS``."""
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
        state_name,
        state_category,
        assignee_id,
        assignee_type,
        assignee_username,
        assignee_display_name,
        reporter_id,
        reporter_type,
        reporter_username,
        reporter_display_name,
        parent_id,
        parent_display_id,
        parent_title,
        parent_type,
        parent_state_id,
        parent_state_name,
        parent_state_category,
        labels,
    ) = row
    return {
        "id": identifier,
        "display_id": display_id,
        "ticket_number": ticket_number,
        "project_id": project_id,
        "type": kind,
        "title": title,
        "body": body,
        "state_id": state_id,
        "state": state_summary(state_id, state_name, state_category),
        "priority": priority,
        "assignee_user_id": assignee_id,
        "assignee": None
        if assignee_id is None
        else user_summary(assignee_id, assignee_type, assignee_username, assignee_display_name),
        "reporter_user_id": reporter_id,
        "reporter": user_summary(
            reporter_id, reporter_type, reporter_username, reporter_display_name
        ),
        "parent_ticket_id": parent_id,
        "parent": None
        if parent_id is None
        else {
            "id": parent_id,
            "display_id": parent_display_id,
            "title": parent_title,
            "type": parent_type,
            "state": state_summary(parent_state_id, parent_state_name, parent_state_category),
        },
        "labels": labels_in(labels),
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
