"""The fields of a ticket in tools: as parameters, in arguments, in answers and in Markdown."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.mcp.parameters import body, choice, day, line, needed, objects, text
from app.mcp.registry import ToolCall
from app.search import service as search
from app.tickets import loaders, read
from app.tickets import messages as ticket_messages
from app.tickets.counting import Counted
from app.tickets.creating import CreatedTicket
from app.tickets.list_pages import MAX_COUNT
from app.tickets.models import Priority, RelationType, Ticket
from app.tools import messages, naming
from app.tools.naming import ASSIGNEE, LABELS, STATE

TITLE = line("title", "One line.")
PRIORITY = choice("priority", Priority, "Priority.")
DUE_DATE = day("due_date", "YYYY-MM-DD.", clearable=True)
RELATIONS = objects(
    "relations",
    "target: a ticket, or children[0] for the first child.",
    fields=(
        choice("type", RelationType, "", required=True),
        text("target", "", required=True, alias="target_ticket_id", meaning=naming.ticket_name),
    ),
)
CHILDREN = objects(
    "children",
    "Up to 20 stories of an epic or subtasks of a story.",
    fields=(
        needed(replace(TITLE, description="")),
        body("body", ""),
        choice("priority", Priority, ""),
        *(replace(one, description="") for one in (STATE, ASSIGNEE, LABELS, DUE_DATE, RELATIONS)),
    ),
)


def partly(counted: Counted) -> dict[str, str]:
    """What to say if not all was counted."""
    if not counted.is_partial:
        return {}
    return {"note": messages.more_than_counted(MAX_COUNT)}


def filters(call: ToolCall) -> dict[str, Any]:
    """The values of ``FILTERS`` for the arguments of list_tickets; raises InvalidField."""
    actor = call.actor
    found: dict[str, Any] = {
        name: call[name]
        for name in ("state_category", "ticket_type", "ready", "stalled", "updated_since")
    }
    found["priority"] = call["priority"] or None
    project_id = key = None
    if call["project"] is not None:
        project = naming.project(actor, call["project"])
        project_id, key = project.id, project.key
        found["project_id"] = project_id
    if call["state"] is not None:
        found["state_id"] = naming.state_ids(actor, call["state"], project_id)
    names = [*(call["labels"] or []), *([call["label_id"]] if call["label_id"] else [])]
    if names:
        found["label_id"] = [
            label_id
            for name in dict.fromkeys(names)
            for label_id in naming.labels_named(actor, name, project_id)
        ]
    if "assignee" in call.arguments:
        assignee = naming.user_id_or_none(actor, call["assignee"], "assignee")
        found["assignee_user_id"] = [assignee]
    if call["reporter"] is not None:
        found["reporter_user_id"] = naming.user_id(actor, call["reporter"], "reporter")
    if call["parent"] is not None:
        found["parent_ticket_id"] = read.get_ticket(actor, naming.numbered(call["parent"], key)).id
    if call["q"] is not None:
        found["among"] = search.ticket_ids(call["q"])
    return found


def fields(
    actor: Actor, project_id: str, arguments: Mapping[str, Any], key: str | None
) -> dict[str, Any]:
    """The fields among the arguments under their names in REST, with ids in place of names.

    With the project's key, a parent can be named by its number.
    """
    found: dict[str, Any] = {
        name: arguments[name]
        for name in ("title", "type", "body", "priority", "due_date")
        if name in arguments
    }
    if "state" in arguments:
        found["state_id"] = naming.state_id(project_id, arguments["state"])
    if "assignee" in arguments:
        found["assignee_user_id"] = naming.user_id_or_none(actor, arguments["assignee"], "assignee")
    for name in ("labels", "add_labels", "remove_labels"):
        if name in arguments:
            label_ids = naming.label_ids(project_id, arguments[name] or [], name)
            found[name.replace("labels", "label_ids")] = label_ids
    if "parent" in arguments:
        found["parent_ticket_id"] = _parent(actor, arguments["parent"], key)
    return found


def relations(arguments: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    """The relations among the arguments, a target by its number being of the project of a key."""
    sent = arguments.get("relations", ())
    return [{**one, "target": naming.numbered(one["target"], key)} for one in sent]


def _parent(actor: Actor, reference: str | None, key: str | None) -> str | None:
    if reference is None:
        return None
    parent = loaders.named_in_body(actor, naming.numbered(reference, key))
    if parent is None:
        raise InvalidField("parent", "not_found", messages.ticket_not_found(reference[:128]))
    return parent.id


def ticket_json(ticket: Ticket | CreatedTicket) -> dict[str, Any]:
    """The JSON that REST answers, and the etag."""
    return {**read.ticket_by_id(ticket.id), "etag": ticket.etag}


def ticket_of(actor: Actor, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """The id of the ticket that a call was about: the one it answered, else the one it named."""
    if "ticket_number" in answer:
        return str(answer["id"])
    if "ticket_id" in answer:
        return str(answer["ticket_id"])
    named = arguments.get("ticket")
    if not isinstance(named, str):
        return None
    # As it was read for the call.
    call = ToolCall(actor, {**arguments, "ticket": naming.ticket_name(named)})
    return str(read.get_ticket(actor, naming.ticket(call)).row.id)


def field_lines(ticket: dict[str, Any]) -> str:
    """The fields of a ticket as a list in Markdown."""
    state, assignee, parent = ticket["state"], ticket["assignee"], ticket["parent"]
    state_text = f"{state['name']} ({state['category']})" if state else ticket_messages.NO_VALUE
    shown = {
        ticket_messages.TYPE: ticket["type"],
        ticket_messages.STATE: state_text,
        ticket_messages.PRIORITY: ticket["priority"],
        ticket_messages.ASSIGNEE: (
            assignee["username"] if assignee else ticket_messages.VALUE_OF_NOBODY
        ),
        ticket_messages.REPORTER: ticket["reporter"]["username"],
        ticket_messages.LABELS: ", ".join(label["name"] for label in ticket["labels"]),
        ticket_messages.PARENT: parent["display_id"] if parent else "",
        ticket_messages.DUE: ticket["due_date"] or "",
        messages.CREATED: ticket["created_at"],
        messages.UPDATED: ticket["updated_at"],
        messages.LAST_ACTIVITY: ticket["last_activity_at"],
    }
    return "\n".join(f"- {name}: {value}" for name, value in shown.items() if value)
