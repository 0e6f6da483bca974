"""The filters of list_tickets."""

from typing import Any

from app.mcp.registry import ToolCall
from app.search import service as search
from app.tickets import read
from app.tickets.counting import Counted
from app.tickets.list_pages import COUNTED
from app.tools import naming


def partly(counted: Counted) -> dict[str, str]:
    """What to say if not all was counted."""
    if not counted.is_partial:
        return {}
    return {"note": f"There are more: only the newest {COUNTED:,} were counted. Narrow it down."}


def values(call: ToolCall) -> dict[str, Any]:
    """The values of ``FILTERS`` for the arguments of list_tickets; raises InvalidField."""
    actor = call.actor
    filters: dict[str, Any] = {
        name: call[name]
        for name in ("state_category", "ticket_type", "ready", "stalled", "updated_since")
    }
    filters["priority"] = call["priority"] or None
    project_id = None
    if call["project"] is not None:
        project_id = filters["project_id"] = naming.project_id(actor, call["project"])
    if call["state"] is not None:
        filters["state_id"] = naming.state_ids(actor, call["state"], project_id)
    names = [*(call["labels"] or []), *([call["label_id"]] if call["label_id"] else [])]
    if names:
        filters["label_id"] = [
            label_id
            for name in dict.fromkeys(names)
            for label_id in naming.labels_named(actor, name, project_id)
        ]
    if "assignee" in call.arguments:
        assignee = naming.user_id_or_none(actor, call["assignee"], "assignee")
        filters["assignee_user_id"] = [assignee]
    if call["reporter"] is not None:
        filters["reporter_user_id"] = naming.user_id(actor, call["reporter"], "reporter")
    if call["parent"] is not None:
        filters["parent_ticket_id"] = read.get_ticket(actor, call["parent"]).id
    if call["q"] is not None:
        filters["among"] = search.ticket_ids(call["q"])
    return filters
