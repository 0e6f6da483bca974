"""Tools of tickets. What hangs on a ticket is in ``ticket_parts.py``."""

from typing import Any

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.mcp.parameters import (
    CLIENT_REQUEST_ID,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    Parameter,
    ParameterKind,
    body,
    choice,
    line,
    needed,
)
from app.mcp.registry import ADDS, ADDS_ONCE, REPLACES, Toolbox, ToolCall
from app.tickets import creating, loaders, read, relations, service, watchers
from app.tickets.creating import CreatedTicket
from app.tickets.models import Priority, Ticket, TicketType
from app.tools import naming, resources
from app.tools.naming import (
    APPEND,
    ASSIGNEE,
    DUE_DATE_TEXT,
    EXPECTED_ASSIGNEE,
    LABELS,
    PARENT,
    PROJECT,
    STATE,
    TICKET,
)
from app.tools.texts import changed_body

toolbox = Toolbox()

TITLE = line("title", "1 to 200 characters.")
PRIORITY = choice("priority", Priority, "Priority.")
DUE_DATE = Parameter("due_date", ParameterKind.DAY, DUE_DATE_TEXT, clearable=True)
ALL_WATCHERS = 200


def shown(ticket: Ticket | CreatedTicket) -> dict[str, Any]:
    """A ticket's JSON of REST and its etag."""
    return {**read.ticket_by_id(ticket.id), "etag": ticket.etag}


def ticket_fields(actor: Actor, project_id: str, given: dict[str, Any]) -> dict[str, Any]:
    """The given fields under the names of REST, with ids in place of names."""
    fields: dict[str, Any] = {
        name: given[name]
        for name in ("title", "type", "body", "priority", "due_date")
        if name in given
    }
    if "state" in given:
        fields["state_id"] = naming.state_id(project_id, given["state"])
    if "assignee" in given:
        fields["assignee_user_id"] = naming.user_id_or_none(actor, given["assignee"], "assignee")
    if "labels" in given:
        fields["label_ids"] = naming.label_ids(project_id, given["labels"] or [])
    if "parent" in given:
        fields["parent_ticket_id"] = _parent(actor, given["parent"])
    return fields


def _parent(actor: Actor, reference: str | None) -> str | None:
    if reference is None:
        return None
    parent = loaders.named_in_body(actor, reference)
    if parent is None:
        raise InvalidField("parent", "not_found", f"There is no ticket {reference[:128]!r}.")
    return parent.id


def _summary(ticket: dict[str, Any]) -> dict[str, Any]:
    """A TicketSummary."""
    return {name: ticket[name] for name in ("id", "display_id", "title", "type", "state")}


def expected_assignee(call: ToolCall) -> dict[str, Any]:
    """``expected_assignee`` as the verbs take it, where it was given."""
    if "expected_assignee" not in call.given:
        return {}
    expected = call["expected_assignee"]
    return {
        "expected_assignee_user_id": naming.user_id_or_none(
            call.actor, expected, "expected_assignee"
        )
    }


@toolbox.tool("get_ticket", "Get ticket", calls=read.get_ticket, parameters=(TICKET,))
def get_ticket(call: ToolCall) -> dict[str, Any]:
    """One ticket with its whole body, relations, watchers, children and etag. Read it before you
    change it; list_comments has the discussion.
    """
    actor = call.actor
    ticket = read.get_ticket(actor, call["ticket"])
    watching = watchers.of_ticket(ticket.id, limit=ALL_WATCHERS, cursor=None)
    return {
        **ticket.json(),
        "etag": ticket.etag,
        "relations": relations.of_ticket(actor, ticket.id),
        "watchers": watching.data,
        "children": [_summary(child) for child in read.children(ticket.id)],
        **resources.of_project(ticket.project_id),
    }


@toolbox.tool(
    "create_ticket",
    "Create ticket",
    calls=creating.create_ticket,
    hints=ADDS,
    keyed=True,
    parameters=(
        needed(PROJECT),
        needed(TITLE),
        choice("type", TicketType, "A subtask needs a story as parent.", default="story"),
        body("body", "Markdown, at most 65,536 characters."),
        choice("priority", Priority, "Priority.", default="medium"),
        STATE,
        ASSIGNEE,
        PARENT,
        LABELS,
        DUE_DATE,
        IDEMPOTENCY_KEY,
        CLIENT_REQUEST_ID,
    ),
)
def create_ticket(call: ToolCall) -> dict[str, Any]:
    """Create a ticket and return it with its display_id. Search first, so that you do not file what
    is there already. States and labels: see get_project.
    """
    project = naming.project(call.actor, call["project"], writing=True)
    fields = ticket_fields(call.actor, project.id, dict(call.given))
    return shown(creating.create_ticket(call.actor, project, **fields))


@toolbox.tool(
    "update_ticket",
    "Update ticket",
    calls=service.update_ticket,
    hints=REPLACES,
    elsewhere={
        "state": "transition_ticket",
        "state_id": "transition_ticket",
        "comment": "add_comment",
        "type": "create_ticket (a type cannot change)",
    },
    parameters=(
        TICKET,
        TITLE,
        body("body", "REPLACES the whole body; see append and edits. For remarks: add_comment."),
        APPEND,
        Parameter(
            "edits", ParameterKind.EDITS, "Instead of body: each find must occur exactly once."
        ),
        PRIORITY,
        ASSIGNEE,
        EXPECTED_ASSIGNEE,
        PARENT,
        LABELS,
        DUE_DATE,
        Parameter(
            "clear_fields",
            ParameterKind.TEXTS,
            "Fields to empty.",
            choices=("assignee", "parent", "due_date", "labels"),
        ),
        IF_MATCH,
    ),
)
def update_ticket(call: ToolCall) -> dict[str, Any]:
    """Change fields of a ticket; what you leave out stays. Its state changes with
    transition_ticket. Claim work with assignee me and expected_assignee none.
    """
    actor = call.actor
    ticket = loaders.writable(actor, call["ticket"])
    fields = ticket_fields(actor, ticket.project_id, dict(call.given))
    fields.pop("body", None)
    text_now = changed_body(call.given, ticket.body)
    if text_now is not None:
        fields["body"] = text_now
    changed = service.update_ticket(
        actor, ticket, if_match=call["if_match"], **expected_assignee(call), **fields
    )
    return shown(changed)


@toolbox.tool(
    "transition_ticket",
    "Move ticket to a state",
    calls=service.transition_ticket,
    hints=ADDS_ONCE,
    parameters=(
        TICKET,
        needed(STATE),
        body("comment", "Why, in Markdown; added as a comment."),
        EXPECTED_ASSIGNEE,
    ),
)
def transition_ticket(call: ToolCall) -> dict[str, Any]:
    """Move a ticket to any state of its project, best with a comment that says what was done. The
    states are in get_project. Returns the ticket.
    """
    ticket = loaders.writable(call.actor, call["ticket"])
    moved = service.transition_ticket(
        call.actor,
        ticket,
        state_id=naming.state_id(ticket.project_id, call["state"]),
        comment=call["comment"],
        **expected_assignee(call),
    )
    return shown(moved)


@toolbox.tool(
    "delete_ticket",
    "Delete ticket",
    calls=service.delete_ticket,
    hints=REPLACES,
    parameters=(TICKET, IF_MATCH),
)
def delete_ticket(call: ToolCall) -> dict[str, Any]:
    """Delete a ticket; its children stay. Only people can restore it. To finish work, use
    transition_ticket instead.
    """
    ticket = loaders.writable(call.actor, call["ticket"])
    service.delete_ticket(call.actor, ticket, if_match=call["if_match"])
    return {"deleted": True, "id": ticket.id}
