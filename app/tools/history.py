"""What happened to a ticket, for ``get_ticket`` with ``history``: values in words, from and to."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.accounts.bot_reads import events_seen
from app.activity.service import list_ticket_activity
from app.mcp.registry import ToolCall
from app.tools.reading import keep_seen
from app.undo.wording import in_names, usernames_of

EVENTS_SHOWN = 30
# Payload keys that repeat the row, or are ids beside a name.
_LEFT_OUT = frozenset({"display_id", "edit_history", "changes", "assignee_username"})
# The payload keys of what an event changed, by field: before and after.
_CHANGES = {
    "ticket.state_changed": {"state": ("from_state_name", "to_state_name")},
    "ticket.assigned": {"assignee": ("from_user_id", "assignee_user_id")},
    "comment.updated": {"body": ("previous_body", "body")},
}


def history(call: ToolCall, ticket_id: str) -> dict[str, Any]:
    """The newest events of the ticket, and the cursor of those before."""
    page = list_ticket_activity(
        call.actor, ticket_id, limit=EVENTS_SHOWN, cursor=call["cursor"], since=call["since"]
    )
    keep_seen(call.log_writes, call.actor, events_seen(page.data))
    values = [value for row in page.data for value in _values(row["payload"])]
    names = usernames_of(values)
    rows = [_row(row, names) for row in page.data]
    return {"history": rows, "next_cursor": page.next_cursor}


def _values(payload: Mapping[str, Any]) -> Iterable[Any]:
    for change in payload.get("changes", {}).values():
        yield from change.values()
    yield from payload.values()


def _row(event: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    kind, payload = event["event_type"], event["payload"]
    fields = _CHANGES.get(kind, {})
    changes = {
        name: {"from": payload.get(before), "to": payload.get(after)}
        for name, (before, after) in fields.items()
    } | payload.get("changes", {})
    used = {key for pair in fields.values() for key in pair}
    details = {
        name: in_names(value, names)
        for name, value in payload.items()
        if name not in used | _LEFT_OUT and value is not None and not name.endswith("state_id")
    }
    return {
        "event_id": event["id"],
        "type": kind,
        "by": event["actor"]["username"] if event["actor"] else None,
        "at": event["created_at"],
        "changes": [
            {"field": name.removesuffix("_user_id"), **_in_words(change, names)}
            for name, change in changes.items()
        ],
        "details": details,
    }


def _in_words(change: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {side: in_names(change.get(side), names) for side in ("from", "to")}
