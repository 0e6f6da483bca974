"""Lean answers: what tools answer unless ``detail`` is ``full``.

Names stand for ids and summaries, empty fields are left out, times are to the minute, and a write
answers what it changed. All of it is made from the full answer, so the two cannot disagree, but for
lists of tickets: those are read in their lean form, which takes half the time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import select

from app.accounts.models import User
from app.core.clock import iso
from app.core.ids import as_uuid, key_in
from app.database.session import AnyRow, session
from app.mcp.registry import Tool, ToolCall
from app.projects.models import Project
from app.search.service import Match
from app.tickets import fields, read, stalled_bots
from app.tickets.models import Ticket
from app.tickets.read import TicketShape
from app.tools import files

# The minute of a time such as 2026-11-25T07:30:12.345Z.
_MINUTE = len("2026-11-25T07:30")
_DROPPED = frozenset(
    {
        *("workspace_id", "ticket_number", "rank", "state_id", "assignee_user_id", "position"),
        *("reporter_user_id", "parent_ticket_id", "author_user_id", "user_id", "ticket_id"),
        *(
            "review_state_id",
            "page_id",
            "source_ticket_id",
            "target_ticket_id",
            "edit_history",
            "score",
            "highlights",
        ),
        "has_more",
    }
)
# An object with one of these is named by it, so its id is left out.
_NAMES = ("display_id", "slug", "key", "name", "username")
# The field of a summary that stands for it.
_SUMMARIES = {
    "state": "name",
    "assignee": "username",
    "reporter": "username",
    "author": "username",
    "user": "username",
    "parent": "display_id",
    "review_state": "name",
}
_PROJECTS = {"project_id": "project", "project_allowlist": "project_allowlist"}
_USERS = {
    "owner_user_id": "owner",
    "created_by_user_id": "created_by",
    "updated_by_user_id": "updated_by",
}
# What a write leaves out: the sender's own text, and what it knows or did not change.
_NOT_IN_WRITES = frozenset(
    {
        *("body", "reporter", "author", "created_by", "updated_by", "reactions"),
        *("created_at", "updated_at", "last_activity_at"),
    }
)
# What an update answers only where an argument was about it.
_IF_CHANGED = frozenset({*fields.BY_PAGE_NAME, "type", "color"}) - {"state", "assignee"}
_ARGUMENTS_ABOUT = {"add_labels": "labels", "remove_labels": "labels"}


def present(tool: Tool, call: ToolCall, answer: dict[str, Any]) -> dict[str, Any]:
    """The lean form of what a tool answers; looks up the names of projects and users."""

    def shown() -> dict[str, Any]:
        return _Presenter(answer).of(answer)

    if tool.shorten is not None:
        return tool.shorten(call, answer, shown)
    lean = shown()
    if tool.creates:
        return _without(lean, _NOT_IN_WRITES)
    return changed(call, answer, lean) if tool.writes else lean


def changed(call: ToolCall, answer: dict[str, Any], lean: dict[str, Any]) -> dict[str, Any]:
    """What is shown of an update: the fields that its arguments are about."""
    if "deleted" in answer:
        return _without(lean, frozenset({"id"}))
    about = {_ARGUMENTS_ABOUT.get(name, name) for name in call.arguments}
    return _without(lean, _NOT_IN_WRITES | _IF_CHANGED - about)


def _without(lean: dict[str, Any], dropped: frozenset[str]) -> dict[str, Any]:
    # A display id tells the project.
    dropped |= {"project"} if "display_id" in lean else set()
    return {name: value for name, value in lean.items() if name not in dropped}


def listed(
    _: ToolCall, answer: dict[str, Any], shown: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """A list of tickets, which is read in its lean form, or what is counted of them."""
    return answer if "data" in answer else shown()


def search_rows(
    _: ToolCall, answer: dict[str, Any], shown: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What is shown of a search: how its results match only where that is not by all words."""
    lean = shown()
    if answer["matched"] == Match.ALL:
        del lean["matched"]
    return lean


def comment_rows(
    _: ToolCall, answer: dict[str, Any], shown: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What is shown of a list of comments; ``updated_at`` where one was edited."""
    lean = shown()
    for row, full in zip(lean["data"], answer["data"], strict=True):
        if full["updated_at"] == full["created_at"]:
            del row["updated_at"]
    return lean


def _minute(moment: int) -> str:
    return f"{iso(moment)[:_MINUTE]}Z"


def _short_row(row: AnyRow) -> dict[str, Any]:
    """The lean form of a row of ``read.SHORT``."""
    shown = {
        "display_id": row.display_id,
        "type": row.type,
        "title": row.title,
        "body": getattr(row, "body", None),
        "state": row.state_name,
        "priority": row.priority,
        "assignee": row.assignee_username,
        "parent": row.parent_display_id,
        "labels": [label["name"] for label in read.labels_in(row.labels)] or None,
        "due_date": row.due_date,
        "updated_at": _minute(row.updated_at),
        "last_activity_at": _minute(max(row.updated_at, row.discussed_at)),
        "comments": row.comments or None,
    }
    if shown["last_activity_at"] == shown["updated_at"]:
        del shown["last_activity_at"]
    return {name: value for name, value in shown.items() if value is not None}


def _short_rows(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    return [_short_row(row) for row in rows]


def _stalled_rows(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    since = stalled_bots.stalled_since_by_id([row.id for row in rows])
    return [
        # The bot may have acted since the tickets were read.
        {**_short_row(row), "silent_since": _minute(since.get(row.id, row.updated_at))}
        for row in rows
    ]


_SHORT_WITH_BODY = read.SHORT.add_columns(Ticket.body)
# By whether texts are shown, and whether the bots of the tickets are stalled.
TICKET_SHAPES = {
    (with_body, is_stalled): TicketShape(statement, build)
    for with_body, statement in ((False, read.SHORT), (True, _SHORT_WITH_BODY))
    for is_stalled, build in ((False, _short_rows), (True, _stalled_rows))
}


class _Presenter:
    """Makes objects lean, with the names of all projects and users in one answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        projects = set(_ids_in(answer, _PROJECTS))
        users = set(_ids_in(answer, _USERS))
        self._keys = _names_of(Project.id, Project.key, projects)
        self._usernames = _names_of(User.id, User.username, users)

    def of(self, full: dict[str, Any]) -> dict[str, Any]:
        lean: dict[str, Any] = {}
        is_named = any(name in full for name in _NAMES)
        for name, value in full.items():
            if value is None or name in _DROPPED or (name == "id" and is_named):
                continue
            if name == "sign_off" and not value:
                continue
            if name == "project_id" and full.get("display_id"):
                lean["project"] = key_in(full["display_id"])
            elif name in _PROJECTS:
                lean[_PROJECTS[name]] = _replaced(value, self._keys)
            elif name in _USERS:
                lean[_USERS[name]] = _replaced(value, self._usernames)
            else:
                shown = self._value(name, value)
                if shown not in (None, [], {}) or name in ("data", "page"):
                    lean[name] = shown
        return lean

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            short = _SUMMARIES.get(name)
            return value.get(short) if short else self.of(value)
        if name == "workflow_states":
            return {state["name"]: state["category"] for state in value}
        if isinstance(value, list):
            return [self._item(name, item) for item in value]
        if (name == "at" or name.endswith("_at")) and isinstance(value, str):
            return f"{value[:_MINUTE]}Z"
        return value

    def _item(self, name: str, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        if name == "files":
            return files.shown(item)
        if name == "labels":
            return item["name"]
        return item["user"]["username"] if name == "watchers" else self.of(item)


def _ids_in(value: Any, fields: dict[str, str]) -> Iterator[str]:
    """The ids under these fields, anywhere in an answer; a display id tells the project itself."""
    if isinstance(value, list):
        for item in value:
            yield from _ids_in(item, fields)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == "project_id" and value.get("display_id"):
                continue
            if name in fields:
                yield from (one for one in _listed(inner) if as_uuid(one) is not None)
            else:
                yield from _ids_in(inner, fields)


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _names_of(id_column: Any, name_column: Any, ids: set[str]) -> dict[str, str]:
    if not ids:
        return {}
    rows = session.execute(select(id_column, name_column).where(id_column.in_(ids)))
    return {row[0]: row[1] for row in rows}


def _replaced(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return sorted(names.get(one, one) for one in value)
    return names.get(value, value)
