"""Tools of tickets; those of relations, watchers and comments are in ``ticket_parts.py``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.mcp.messages import rows
from app.mcp.parameters import (
    CREATE_ONCE,
    CURSOR,
    EDITS,
    IF_MATCH,
    INCLUDE_BODY,
    LIMIT,
    body,
    choice,
    clear_fields,
    day,
    flag,
    line,
    moment,
    needed,
    raise_unknown,
    text,
    texts,
)
from app.mcp.registry import ADDS, ADDS_ONCE, REPLACES, Toolbox, ToolCall
from app.projects.models import StateCategory
from app.search import service as search
from app.tickets import (
    counting,
    creating,
    listing,
    loaders,
    read,
    relations,
    service,
    templates,
    watchers,
)
from app.tickets.counting import CountBy
from app.tickets.models import Priority, Ticket, TicketType
from app.tickets.ticket_labels import label_ids_of
from app.tools import naming, resources
from app.tools.naming import (
    APPEND,
    ASSIGNEE,
    EXPECTED_ASSIGNEE,
    LABELS,
    PARENT,
    PROJECT,
    STATE,
    TEMPLATE,
    TICKET,
)
from app.tools.next_ticket import ELSEWHERE, NEXT, NEXT_ONLY, claim_next, refuse_next_only
from app.tools.texts import changed_body
from app.tools.ticket_answers import ticket_json
from app.tools.undoing import UNDO, undo

toolbox = Toolbox()

TITLE = line("title", "1 to 200 characters.")
PRIORITY = choice("priority", Priority, "Priority.")
DUE_DATE = day("due_date", "Date such as 2026-11-20.", clearable=True)
ALL_WATCHERS = 200


@toolbox.tool(
    "list_tickets",
    "List tickets",
    calls=listing.list_tickets,
    parameters=(
        PROJECT,
        STATE,
        choice("state_category", StateCategory, "Kind of state."),
        choice("ticket_type", TicketType, "Type."),
        ASSIGNEE,
        text("reporter", "Username, UUID or me.", alias="reporter_user_id"),
        text("label", "Label: name or UUID.", alias="label_id"),
        choice("priority", Priority, "Priority."),
        text("parent", "Children of this ticket: display id or UUID.", alias="parent_ticket_id"),
        flag("ready", "Only what can be started: not done, nobody's, not blocked, no epics."),
        moment("updated_since", "Time such as 2026-11-20T00:00:00Z."),
        text("q", "Words to search for, as in search."),
        choice("count_by", CountBy, "Answer the numbers of tickets by this, and no rows."),
        replace(LIMIT, description="Rows per page; 0 answers the total alone.", minimum=0),
        CURSOR,
        INCLUDE_BODY,
    ),
)
def list_tickets(call: ToolCall) -> dict[str, Any]:
    """Tickets by filter, newest first, without bodies (get_ticket has them). For your next task:
    update_ticket with ticket next. For words alone, search ranks better. Follow page.next_cursor
    for more.
    """
    if call["count_by"] is not None:
        by = CountBy(call["count_by"])
        return {"counts": counting.count_tickets_by(call.actor, by, **_filters(call))}
    if call["limit"] == 0:
        return {"total": counting.count_tickets(call.actor, **_filters(call))}
    with_body = bool(call["include_body"])
    page = listing.list_tickets(call.actor, with_body=with_body, **call.window, **_filters(call))
    return rows(page.envelope, with_body=with_body, may_be_empty=read.MAY_BE_EMPTY)


def _filters(call: ToolCall) -> dict[str, Any]:
    actor = call.actor
    filters: dict[str, Any] = {
        name: call[name]
        for name in ("state_category", "ticket_type", "priority", "ready", "updated_since")
    }
    project_id = None
    if call["project"] is not None:
        project_id = filters["project_id"] = naming.project_id(actor, call["project"])
    if call["state"] is not None:
        filters["state_id"] = naming.state_ids(actor, call["state"], project_id)
    if call["label"] is not None:
        filters["label_id"] = naming.labels_named(actor, call["label"], project_id)
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


@toolbox.tool("get_ticket", "Get ticket", calls=read.get_ticket, parameters=(TICKET,))
def get_ticket(call: ToolCall) -> dict[str, Any]:
    """One ticket with its whole body, relations, watchers, children and etag. Read it before you
    change it; list_comments has the discussion.
    """
    actor = call.actor
    ticket = read.get_ticket(actor, call["ticket"])
    watcher_page = watchers.of_ticket(ticket.id, limit=ALL_WATCHERS, cursor=None)
    return {
        **ticket.json(),
        "etag": ticket.etag,
        "relations": relations.of_ticket(actor, ticket.id),
        "watchers": watcher_page.data,
        "children": [_summary(child) for child in read.children(ticket.id)],
        **resources.guide_of(ticket.project_id),
    }


@toolbox.tool(
    "create_ticket",
    "Create ticket",
    calls=creating.create_ticket,
    hints=ADDS,
    parameters=(
        needed(PROJECT),
        needed(TITLE),
        TEMPLATE,
        choice("type", TicketType, "A subtask needs a story as parent.", default="story"),
        body("body", "Markdown, at most 65,536 characters."),
        choice("priority", Priority, "Priority.", default="medium"),
        STATE,
        ASSIGNEE,
        PARENT,
        LABELS,
        DUE_DATE,
        *CREATE_ONCE,
    ),
)
def create_ticket(call: ToolCall) -> dict[str, Any]:
    """Create a ticket and return it with its display_id. Search first to
    avoid duplicates. States, labels and templates: see get_project.
    """
    project = naming.project(call.actor, call["project"], writing=True)
    fields = ticket_fields(call.actor, project.id, call.arguments)
    if call["template"] is not None:
        fields = templates.filled(naming.template(project.id, call["template"]), fields)
    return ticket_json(creating.create_ticket(call.actor, project, **fields))


@toolbox.tool(
    "update_ticket",
    "Update ticket",
    calls=service.update_ticket,
    hints=REPLACES,
    elsewhere=ELSEWHERE,
    parameters=(
        replace(TICKET, description=f"{TICKET.description} Or next: see above."),
        TITLE,
        body("body", "REPLACES the whole body; see append and edits. For remarks: add_comment."),
        APPEND,
        EDITS,
        PRIORITY,
        ASSIGNEE,
        EXPECTED_ASSIGNEE,
        PARENT,
        LABELS,
        texts("add_labels", "Labels to add; the others stay."),
        texts("remove_labels", "Labels to take off; the others stay."),
        DUE_DATE,
        clear_fields("assignee", "parent", "due_date", "labels"),
        IF_MATCH,
        UNDO,
        *NEXT_ONLY,
    ),
    events_of="ticket",
)
def update_ticket(call: ToolCall) -> dict[str, Any]:
    """Change fields of a ticket; what you leave out stays. Its state changes with
    transition_ticket. Get work with ticket next: it assigns you the best ready ticket, narrowed by
    project, type, label and priority, moves it to state if you give one, and returns it whole.
    """
    actor = call.actor
    if call["ticket"].lower() == NEXT:
        return claim_next(call)
    refuse_next_only(call)
    if call["undo"] is not None:
        ticket = loaders.writable(actor, call["ticket"], include_deleted=True)
        undone = undo(call, "ticket", ticket.id)
        return {**ticket_json(ticket), "undone": undone}
    ticket = loaders.writable(actor, call["ticket"])
    fields = ticket_fields(actor, ticket.project_id, call.arguments)
    fields.pop("body", None)
    new_body = changed_body(call.arguments, ticket.body)
    if new_body is not None:
        fields["body"] = new_body
    fields |= _labels_changed(call, ticket)
    changed = service.update_ticket(
        actor, ticket, if_match=call["if_match"], **_expected_assignee(call), **fields
    )
    return ticket_json(changed)


@toolbox.tool(
    "transition_ticket",
    "Move ticket to a state",
    calls=service.transition_ticket,
    hints=ADDS_ONCE,
    parameters=(
        TICKET,
        needed(STATE),
        body("comment", "Why, in Markdown; added as a comment."),
        replace(ASSIGNEE, description="Hand over with the move: username, UUID, me or none."),
        EXPECTED_ASSIGNEE,
    ),
    events_of="ticket",
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
        **_expected_assignee(call),
    )
    if "assignee" in call.arguments:
        assignee = naming.user_id_or_none(call.actor, call["assignee"], "assignee")
        moved = service.update_ticket(call.actor, moved, assignee_user_id=assignee)
    return ticket_json(moved)


@toolbox.tool(
    "delete_ticket",
    "Delete ticket",
    calls=service.delete_ticket,
    hints=REPLACES,
    parameters=(
        TICKET,
        IF_MATCH,
        flag("restore", "Instead: restore a ticket that you deleted."),
    ),
)
def delete_ticket(call: ToolCall) -> dict[str, Any]:
    """Delete a ticket; its children stay. To finish work, use transition_ticket instead."""
    if call["restore"]:
        if call["if_match"] is not None:
            raise_unknown({"if_match": "restore alone"})
        return ticket_json(service.restore_ticket(call.actor, call["ticket"]))
    ticket = loaders.writable(call.actor, call["ticket"])
    service.delete_ticket(call.actor, ticket, if_match=call["if_match"])
    return {"deleted": True, "id": ticket.id}


def ticket_fields(actor: Actor, project_id: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The fields among the arguments under their names in REST, with ids in place of names."""
    fields: dict[str, Any] = {
        name: arguments[name]
        for name in ("title", "type", "body", "priority", "due_date")
        if name in arguments
    }
    if "state" in arguments:
        fields["state_id"] = naming.state_id(project_id, arguments["state"])
    if "assignee" in arguments:
        fields["assignee_user_id"] = naming.user_id_or_none(
            actor, arguments["assignee"], "assignee"
        )
    if "labels" in arguments:
        fields["label_ids"] = naming.label_ids(project_id, arguments["labels"] or [])
    if "parent" in arguments:
        fields["parent_ticket_id"] = _parent(actor, arguments["parent"])
    return fields


def _parent(actor: Actor, reference: str | None) -> str | None:
    if reference is None:
        return None
    parent = loaders.named_in_body(actor, reference)
    if parent is None:
        raise InvalidField("parent", "not_found", f"Ticket {reference[:128]!r} not found.")
    return parent.id


def _summary(ticket: dict[str, Any]) -> dict[str, Any]:
    return {name: ticket[name] for name in ("id", "display_id", "title", "type", "state")}


def _labels_changed(call: ToolCall, ticket: Ticket) -> dict[str, list[str]]:
    """``label_ids`` for ``add_labels`` and ``remove_labels``; raises RequestInvalid."""
    changes = {name for name in ("add_labels", "remove_labels") if name in call.arguments}
    if not changes:
        return {}
    if "labels" in call.arguments:
        raise_unknown(dict.fromkeys(sorted(changes), "labels or these, not both"))
    added, removed = (
        set(naming.label_ids(ticket.project_id, call.arguments.get(name) or [], name))
        for name in ("add_labels", "remove_labels")
    )
    return {"label_ids": sorted((set(label_ids_of(ticket)) | added) - removed)}


def _expected_assignee(call: ToolCall) -> dict[str, Any]:
    """The keyword argument of the verbs for ``expected_assignee``, where it was sent."""
    name = "expected_assignee"
    if name not in call.arguments:
        return {}
    return {f"{name}_user_id": naming.user_id_or_none(call.actor, call[name], name)}
