"""Tools of tickets; those of relations, watchers and comments are in ``ticket_parts.py``."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.accounts.bot_reads import ticket_seen
from app.core.actor import Actor
from app.core.clock import iso
from app.core.ids import key_in
from app.inbox.unread import Reading
from app.mcp.jsonrpc import rows
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
    flag,
    moment,
    needed,
    raise_unknown,
    text,
    texts,
)
from app.mcp.registry import ADDS, ADDS_ONCE, DETAIL, REPLACES, Toolbox, ToolCall
from app.projects.models import StateCategory
from app.search import service as search
from app.tickets import (
    counting,
    creating,
    links,
    listing,
    loaders,
    read,
    relations,
    service,
    sign_off,
    similar,
    stalled_bots,
    templates,
    watchers,
)
from app.tickets.counting import CountBy
from app.tickets.filters import OPEN
from app.tickets.models import Priority, TicketType
from app.tickets.sorting import TicketSort
from app.tools import files, lean, messages, naming, resources, ticket_fields
from app.tools.history import history
from app.tools.naming import (
    APPEND,
    ASSIGNEE,
    EXPECTED_ASSIGNEE,
    LABELS,
    NUMBERED,
    PARENT,
    PROJECT,
    STATE,
    TEMPLATE,
    TICKET,
)
from app.tools.next_ticket import (
    ELSEWHERE,
    NEXT_ONLY,
    claim_next,
    is_next,
    refuse_next_only,
    shorten_update,
)
from app.tools.reading import keep, keep_seen, noting, read_ticket
from app.tools.texts import changed_body
from app.tools.ticket_fields import CHILDREN, DUE_DATE, PRIORITY, RELATIONS, TITLE, ticket_json
from app.tools.undoing import UNDO, undo

toolbox = Toolbox()

ALL_WATCHERS = 200


@toolbox.tool(
    "list_tickets",
    "List tickets",
    calls=listing.list_tickets,
    shorten=lean.listed,
    parameters=(
        PROJECT,
        STATE,
        choice("state_category", (*StateCategory, OPEN), "open: all but done."),
        choice("ticket_type", TicketType, "Type."),
        ASSIGNEE,
        text("reporter", "Username or me.", alias="reporter_user_id"),
        texts("labels", "Any of these names.", alias="label"),
        text("label_id", "A label.", hidden=True),
        texts("priority", "Any of these.", choices=tuple(Priority)),
        replace(PARENT, description="Only its children.", clearable=False),
        flag("ready", "Only what can be started."),
        flag("stalled", "Only tickets of stalled bots."),
        moment("updated_since", "UTC time or date."),
        text("q", "Words, as in search."),
        choice("sort", TicketSort, "Default: created; rank with ready."),
        choice("count_by", CountBy, "Count by this."),
        replace(LIMIT, description="0: the total.", minimum=0),
        CURSOR,
        INCLUDE_BODY,
        DETAIL,
    ),
)
def list_tickets(call: ToolCall) -> dict[str, Any]:
    """Tickets by filter, newest first, without bodies. All that is yours: assignee me,
    state_category open.
    """
    filters = ticket_fields.filters(call)
    answer = _listed(call, filters)
    if call["q"] is None or answer.get("data") or answer.get("counts") or answer.get("total"):
        return answer
    if call["cursor"] and listing.list_tickets(call.actor, limit=1, cursor=None, **filters).data:
        return answer
    among = search.any_ticket_ids(call.actor, call["q"], filters.get("project_id"))
    if among is None:
        return answer
    return {**_listed(call, {**filters, "among": among}), "matched": str(search.Match.ANY)}


def _listed(call: ToolCall, filters: dict[str, Any]) -> dict[str, Any]:
    if call["count_by"] is not None:
        counted = counting.count_tickets_by(call.actor, CountBy(call["count_by"]), **filters)
        return {"counts": counted.numbers, **ticket_fields.partly(counted)}
    if call["limit"] == 0:
        counted = counting.count_tickets(call.actor, **filters)
        return {**counted.numbers, **ticket_fields.partly(counted)}
    with_body = bool(call["include_body"])
    sort = call["sort"] or (TicketSort.RANK if call["ready"] else TicketSort.CREATED)
    shape = lean.TICKET_SHAPES[with_body, bool(call["stalled"])]
    if call.is_full:
        shape = read.WHOLE if with_body else read.WITHOUT_BODY
    if with_body:
        shape = noting(call.actor, shape)
    page = listing.list_tickets(call.actor, sort=sort, shape=shape, **call.window, **filters)
    if not call.is_full:
        following = {"next_cursor": page.next_cursor} if page.next_cursor else {}
        return {"data": page.data, "page": following}
    if call["stalled"]:
        since = stalled_bots.stalled_since_by_id([row["id"] for row in page.data])
        for row in page.data:
            # The bot may have acted since the tickets were read.
            row["silent_since"] = iso(since[row["id"]]) if row["id"] in since else row["updated_at"]
    return rows(page.collection, with_body=with_body, may_be_empty=read.MAY_BE_EMPTY)


@toolbox.tool(
    "get_ticket",
    "Get ticket",
    calls=read.get_ticket,
    parameters=(
        *NUMBERED,
        flag("history", "Add its newest events."),
        moment("since", "With history: UTC time or date."),
        replace(CURSOR, description="With history: next_cursor."),
        DETAIL,
    ),
)
def get_ticket(call: ToolCall) -> dict[str, Any]:
    """One ticket with its body, relations, links, watchers, children and etag. Read it before you
    change it; list_comments has the discussion.
    """
    actor = call.actor
    if not call["history"]:
        surplus = [name for name in ("since", "cursor") if name in call.arguments]
        raise_unknown(dict.fromkeys(surplus, messages.HISTORY_INSTEAD))
    ticket, reading = read_ticket(actor, naming.ticket(call))
    keep(call.log_writes, reading, version=ticket.row.updated_at)
    watcher_page = watchers.of_ticket(ticket.id, limit=ALL_WATCHERS, cursor=None)
    return {
        **ticket.json(),
        "etag": ticket.etag,
        "relations": relations.of_ticket(actor, ticket.id),
        "links": links.of_ticket(ticket.id),
        "watchers": watcher_page.data,
        "children": [_summary(child) for child in read.children(ticket.id)],
        "files": files.of_ticket(ticket.id),
        **sign_off.sign_off_rule(
            sign_off=ticket.row.sign_off, review_state_id=ticket.row.review_state_id
        ),
        **resources.guide_of(ticket.project_id),
        **(history(call, ticket.id) if call["history"] else {}),
    }


def _similar(actor: Actor, created: Mapping[str, Any]) -> dict[str, Any]:
    return {"similar": similar.similar_tickets(actor, created["display_id"])}


@toolbox.tool(
    "create_ticket",
    "Create ticket",
    calls=creating.create_breakdown,
    hints=ADDS,
    after_commit=_similar,
    parameters=(
        needed(PROJECT),
        needed(TITLE),
        TEMPLATE,
        choice("type", TicketType, "Type.", default="story"),
        body("body", "Markdown."),
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
    """Create a ticket, with children and relations if you like. It answers open tickets with a
    similar title, so look for duplicates there. get_project has states, labels and templates.
    """
    project = naming.project(call.actor, call["project"], writing=True)
    fields = ticket_fields.fields(call.actor, project.id, call.arguments, project.key)
    if call["template"] is not None:
        fields = templates.filled(naming.template(project.id, call["template"]), fields)
    children = []
    for number, child in enumerate(call["children"] or ()):
        with creating.prefix_errors(f"children[{number}]"):
            own = ticket_fields.fields(call.actor, project.id, child, project.key)
        children.append({**own, "relations": ticket_fields.relations(child, project.key)})
    related = ticket_fields.relations(call.arguments, project.key)
    created = creating.create_breakdown(
        call.actor, project, children=children, relations=related, **fields
    )
    # Nobody else did anything on it.
    reading = Reading(call.actor.id, created.ticket.id, created.ticket.updated_at, marks="")
    keep(call.log_writes, reading, version=created.ticket.updated_at, comments=())
    for child in created.children:
        keep_seen(call.log_writes, call.actor, ticket_seen(child.id, child.updated_at))
    answer = ticket_json(created.ticket)
    if related:
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
    shorten=shorten_update,
    parameters=(
        replace(TICKET, description=f"{TICKET.description} Or next."),
        PROJECT,
        TITLE,
        body("body", "REPLACES the whole body."),
        APPEND,
        EDITS,
        PRIORITY,
        ASSIGNEE,
        EXPECTED_ASSIGNEE,
        PARENT,
        LABELS,
        texts("add_labels", "Added to the others.", alias="add_label_ids"),
        texts("remove_labels", "The others stay.", alias="remove_label_ids"),
        DUE_DATE,
        texts("links", "Addresses to add, as of a pull request."),
        clear_fields("assignee", "parent", "due_date", "labels"),
        IF_MATCH,
        UNDO,
        *NEXT_ONLY,
    ),
    events_of="ticket",
)
def update_ticket(call: ToolCall) -> dict[str, Any]:
    """Change fields of a ticket; what you leave out stays. For its state: transition_ticket. Get
    work with ticket next: it assigns you the best ready ticket, narrowed by project, type, label
    and priority, moves it to state if given, and returns it whole.
    """
    actor = call.actor
    if is_next(call):
        return claim_next(call)
    refuse_next_only(call)
    named = naming.ticket(call, writing=True)
    if call["undo"] is not None:
        ticket = loaders.writable(actor, named, include_deleted=True)
        undone = undo(call, "ticket", ticket.id)
        return {**ticket_json(ticket), "undone": undone}
    ticket = loaders.writable(actor, named)
    key = key_in(ticket.display_id)
    fields = ticket_fields.fields(actor, ticket.project_id, call.arguments, key)
    fields.pop("body", None)
    new_body = changed_body(call.arguments, ticket.body)
    if new_body is not None:
        fields["body"] = new_body
    changed = service.update_ticket(
        actor, ticket, if_match=call["if_match"], **_expected_assignee(call), **fields
    )
    answer = ticket_json(changed)
    if call["links"] is not None:
        links.add_links(actor, ticket, call["links"])
        answer["links"] = links.of_ticket(ticket.id)
    return answer


@toolbox.tool(
    "transition_ticket",
    "Move ticket to a state",
    calls=service.transition_ticket,
    hints=ADDS_ONCE,
    parameters=(
        *NUMBERED,
        needed(STATE),
        body("comment", "Why, in Markdown."),
        replace(ASSIGNEE, description="Hand over: username, me or none."),
        EXPECTED_ASSIGNEE,
    ),
    events_of="ticket",
)
def transition_ticket(call: ToolCall) -> dict[str, Any]:
    """Move a ticket to any state of its project, best with a comment that says what was done.
    get_project has the states. With sign_off, only people move tickets to done: use review_state.
    """
    ticket = loaders.writable(call.actor, naming.ticket(call, writing=True))
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
        *NUMBERED,
        IF_MATCH,
        flag("restore", "Restore a ticket that you deleted."),
    ),
)
def delete_ticket(call: ToolCall) -> dict[str, Any]:
    """Delete a ticket; its children stay. To finish work, use transition_ticket instead."""
    named = naming.ticket(call, writing=True)
    if call["restore"]:
        if call["if_match"] is not None:
            raise_unknown({"if_match": messages.RESTORE_WITHOUT_IT})
        return ticket_json(service.restore_ticket(call.actor, named))
    ticket = loaders.writable(call.actor, named)
    service.delete_ticket(call.actor, ticket, if_match=call["if_match"])
    return {"deleted": True, "id": ticket.id}


def _summary(ticket: dict[str, Any]) -> dict[str, Any]:
    return {name: ticket[name] for name in ("id", "display_id", "title", "type", "state")}


def _expected_assignee(call: ToolCall) -> dict[str, Any]:
    """The keyword argument of the verbs for ``expected_assignee``, where it was sent."""
    name = "expected_assignee"
    if name not in call.arguments:
        return {}
    return {f"{name}_user_id": naming.user_id_or_none(call.actor, call[name], name)}
