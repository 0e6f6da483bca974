"""Tools of tickets; those of relations, watchers and comments are in ``ticket_parts.py``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.core.actor import Actor
from app.core.clock import iso
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
    objects,
    raise_unknown,
    text,
    texts,
)
from app.mcp.registry import ADDS, ADDS_ONCE, REPLACES, Toolbox, ToolCall
from app.projects.models import StateCategory
from app.tickets import (
    breakdown,
    counting,
    listing,
    loaders,
    read,
    relations,
    service,
    stalled_bots,
    templates,
    watchers,
)
from app.tickets.counting import CountBy
from app.tickets.filters import OPEN
from app.tickets.models import Priority, RelationType, TicketType
from app.tickets.sorting import TicketSort
from app.tools import naming, resources, ticket_filters
from app.tools.history import history
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
RELATIONS = objects(
    "relations",
    "What it blocks, relates to or duplicates. target: a ticket, or children[0], the first child.",
    fields=(
        choice("type", RelationType, "", required=True),
        text("target", "", required=True, alias="target_ticket_id", meaning=naming.ticket_name),
    ),
)
CHILDREN = objects(
    "children",
    "Up to 20 tickets below it: stories of an epic, subtasks of a story.",
    fields=(
        needed(replace(TITLE, description="")),
        body("body", ""),
        choice("priority", Priority, ""),
        *(replace(one, description="") for one in (STATE, ASSIGNEE, LABELS, DUE_DATE, RELATIONS)),
    ),
)
ALL_WATCHERS = 200


@toolbox.tool(
    "list_tickets",
    "List tickets",
    calls=listing.list_tickets,
    parameters=(
        PROJECT,
        STATE,
        choice("state_category", (*StateCategory, OPEN), "Kind of state; open: all but done."),
        choice("ticket_type", TicketType, "Type."),
        ASSIGNEE,
        text("reporter", "Username, UUID or me.", alias="reporter_user_id"),
        texts("labels", "Any of these: names or UUIDs.", alias="label"),
        text("label_id", "A label.", hidden=True),
        texts("priority", "Any of these.", choices=tuple(Priority)),
        replace(
            PARENT, description="Children of this ticket: display id or UUID.", clearable=False
        ),
        flag("ready", "Only what can be started: open, unassigned, not blocked, no epics."),
        flag("stalled", "Only tickets of stalled bots; rows have assignee and silent_since."),
        moment("updated_since", "Time such as 2026-11-20T00:00:00Z."),
        text("q", "Words to search for, as in search."),
        choice("sort", TicketSort, "Default: created (newest first); with ready, rank."),
        choice("count_by", CountBy, "Return numbers of tickets by this, and no rows."),
        replace(LIMIT, description="Rows per page; 0 returns the total alone.", minimum=0),
        CURSOR,
        INCLUDE_BODY,
    ),
)
def list_tickets(call: ToolCall) -> dict[str, Any]:
    """Tickets by filter, newest first, without bodies (get_ticket has them). All that is yours:
    assignee me, state_category open. For your next task: update_ticket with ticket next; ready
    lists come in its order. For words alone, search ranks better. Follow page.next_cursor for more.
    """
    if call["count_by"] is not None:
        by = CountBy(call["count_by"])
        counted = counting.count_tickets_by(call.actor, by, **ticket_filters.values(call))
        return {"counts": counted.numbers, **ticket_filters.partly(counted)}
    if call["limit"] == 0:
        counted = counting.count_tickets(call.actor, **ticket_filters.values(call))
        return {**counted.numbers, **ticket_filters.partly(counted)}
    with_body = bool(call["include_body"])
    sort = call["sort"] or (TicketSort.RANK if call["ready"] else TicketSort.CREATED)
    page = listing.list_tickets(
        call.actor, sort=sort, with_body=with_body, **call.window, **ticket_filters.values(call)
    )
    if call["stalled"]:
        since = stalled_bots.silent([row["id"] for row in page.data])
        for row in page.data:
            # Without an event, as after an import, the time of the last change stands for it.
            row["silent_since"] = iso(since[row["id"]]) if row["id"] in since else row["updated_at"]
    return rows(page.envelope, with_body=with_body, may_be_empty=read.MAY_BE_EMPTY)


@toolbox.tool(
    "get_ticket",
    "Get ticket",
    calls=read.get_ticket,
    parameters=(
        TICKET,
        flag("history", "Add its newest events, with from and to."),
        moment("since", "With history: only events since, such as 2026-11-20T00:00:00Z."),
        replace(CURSOR, description="With history: next_cursor of the previous result."),
    ),
)
def get_ticket(call: ToolCall) -> dict[str, Any]:
    """One ticket with its whole body, relations, watchers, children and etag. Read it before you
    change it; list_comments has the discussion.
    """
    actor = call.actor
    if not call["history"]:
        raise_unknown(
            {name: "history: true" for name in ("since", "cursor") if name in call.arguments}
        )
    ticket = read.get_ticket(actor, call["ticket"])
    watcher_page = watchers.of_ticket(ticket.id, limit=ALL_WATCHERS, cursor=None)
    return {
        **ticket.json(),
        "etag": ticket.etag,
        "relations": relations.of_ticket(actor, ticket.id),
        "watchers": watcher_page.data,
        "children": [_summary(child) for child in read.children(ticket.id)],
        **resources.guide_of(ticket.project_id),
        **(history(call, ticket.id) if call["history"] else {}),
    }


@toolbox.tool(
    "create_ticket",
    "Create ticket",
    calls=breakdown.create_breakdown,
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
        RELATIONS,
        CHILDREN,
        *CREATE_ONCE,
    ),
)
def create_ticket(call: ToolCall) -> dict[str, Any]:
    """Create a ticket, with children and relations if you like, and return it with its display_id.
    Search first to avoid duplicates. States, labels and templates: see get_project.
    """
    project = naming.project(call.actor, call["project"], writing=True)
    fields = ticket_fields(call.actor, project.id, call.arguments)
    if call["template"] is not None:
        fields = templates.filled(naming.template(project.id, call["template"]), fields)
    children = []
    for number, child in enumerate(call["children"] or ()):
        with breakdown.named(f"children[{number}]"):
            own = ticket_fields(call.actor, project.id, child)
        children.append({**own, "relations": child.get("relations", ())})
    created = breakdown.create_breakdown(
        call.actor, project, children=children, relations=call["relations"] or (), **fields
    )
    answer = ticket_json(created.ticket)
    if call["relations"]:
        answer["relations"] = relations.of_ticket(call.actor, created.ticket.id)
    if children:
        answer["children"] = [_summary(child) for child in read.children(created.ticket.id)]
    return answer


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
        texts("add_labels", "Labels to add; the others stay.", alias="add_label_ids"),
        texts("remove_labels", "Labels to remove; the others stay.", alias="remove_label_ids"),
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
        moved = service.update_ticket(
            call.actor, moved, assignee_user_id=assignee, **_expected_assignee(call)
        )
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
            raise_unknown({"if_match": "restore without it"})
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
    for name in ("labels", "add_labels", "remove_labels"):
        if name in arguments:
            label_ids = naming.label_ids(project_id, arguments[name] or [], name)
            fields[name.replace("labels", "label_ids")] = label_ids
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


def _expected_assignee(call: ToolCall) -> dict[str, Any]:
    """The keyword argument of the verbs for ``expected_assignee``, where it was sent."""
    name = "expected_assignee"
    if name not in call.arguments:
        return {}
    return {f"{name}_user_id": naming.user_id_or_none(call.actor, call[name], name)}
