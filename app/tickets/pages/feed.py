"""Events of tickets in words, for every page that shows them, and the words for relations.

A sentence follows the name of its actor. In a list of several tickets it names its ticket; beside
the ticket itself it does not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from app.core.text import without_bidi_controls
from app.tickets.fields import UPDATED
from app.tickets.models import Priority
from app.tickets.pages import messages
from app.web.filters import day

RELATION_TYPES = [(word, word) for word in messages.RELATION_ORDER]
# Names of fields in a summary of several changes.
SHORT = {field.name: field.label.lower() for field in UPDATED}
# Fields whose values are ids of users or tickets.
NAMED = tuple(field.name for field in UPDATED if field.is_reference)
PRIORITIES = [str(priority) for priority in Priority]


def sentence(
    event: Mapping[str, Any], ticket_id: str, names: Mapping[str, str], ticket: str = ""
) -> str:
    """The sentence of an event of a ticket, after its actor.

    ``names`` has the names of mentioned ids; ``ticket`` is the display id if the sentence names it.
    """
    kind, payload = event["event_type"], event["payload"]
    if kind in messages.HAPPENED:
        return without_bidi_controls(messages.happened(kind, payload, ticket))
    match kind:
        case "ticket.updated":
            words = ", ".join(_changed(payload["changes"], names, ticket))
        case "ticket.assigned":
            words = _assigned(payload, names, ticket)
        case "ticket.state_changed":
            words = messages.moved_between(
                ticket, payload["from_state_name"], payload["to_state_name"]
            )
        case "ticket.watcher_added" | "ticket.watcher_removed":
            words = _watched(event, ticket)
        case "ticket.relation_added" | "ticket.relation_removed":
            words = _relation(kind, payload, ticket_id, ticket)
        case _:
            words = kind.replace("_", " ").replace(".", " ")
    return without_bidi_controls(words) or messages.has_changed_something(ticket)


def _watched(event: Mapping[str, Any], ticket: str) -> str:
    payload, is_added = event["payload"], event["event_type"].endswith("added")
    if payload["user_id"] == (event["actor"] or {}).get("id"):
        return messages.watching(ticket, is_added=is_added)
    return messages.watcher(ticket, payload["username"], is_added=is_added)


def _assigned(payload: Mapping[str, Any], names: Mapping[str, str], ticket: str) -> str:
    after = names.get(payload["assignee_user_id"], payload["assignee_username"])
    before = payload["from_user_id"]
    if before is None:
        return messages.assigned(ticket, after)
    return messages.reassigned(ticket, names.get(before, messages.UNKNOWN), after)


def _changed(
    changes: Mapping[str, Mapping[str, Any]], names: Mapping[str, str], ticket: str
) -> Iterable[str]:
    for name, change in changes.items():
        before, after = change.get("from"), change.get("to")
        match name:
            case "title":
                yield messages.retitled(ticket, str(before), str(after))
            case "body":
                yield messages.description_edited(ticket)
            case "priority":
                is_raised = _is_raised(before, after)
                yield messages.prioritized(ticket, str(after), is_raised=is_raised)
            case "rank":
                yield messages.ranked(ticket, is_up=(after or "") < (before or ""))
            case "due_date":
                days = (before and day(before), after and day(after))
                yield messages.due_date_changed(ticket, *days)
            case "assignee_user_id":
                yield messages.unassigned(ticket, names.get(before or ""))
            case "reporter_user_id":
                yield messages.reporter_changed(ticket, names.get(after or "", messages.UNKNOWN))
            case "parent_ticket_id":
                parent = names.get(after, messages.A_TICKET) if after else None
                yield messages.parent_changed(ticket, names.get(before or ""), parent)
            case "label_ids":
                yield _relabelled(set(before or ()), set(after or ()), names, ticket)
            case _:
                yield messages.field_changed(ticket, name)
        # Only the first of several changes names the ticket.
        ticket = ""


def _is_raised(before: Any, after: Any) -> bool | None:
    """Whether the priority was raised; None if one of the values is not a priority."""
    if before in PRIORITIES and after in PRIORITIES:
        return PRIORITIES.index(after) > PRIORITIES.index(before)
    return None


def _relabelled(before: set[str], after: set[str], names: Mapping[str, str], ticket: str) -> str:
    added, removed = (
        sorted(names.get(label_id, messages.DELETED_LABEL) for label_id in ids)
        for ids in (after - before, before - after)
    )
    return messages.relabeled(ticket, added, removed)


def _relation(event_type: str, payload: Mapping[str, Any], ticket_id: str, ticket: str) -> str:
    outgoing = payload["source_ticket_id"] == ticket_id
    word = messages.RELATION_WORDS[payload["type"], outgoing]
    other = payload["target_display_id" if outgoing else "source_display_id"]
    return messages.related(ticket, word, other, is_added=event_type.endswith("added"))


def mentioned(events: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of users, tickets and labels in the sentences of these events."""
    ids: set[str] = set()
    for event in events:
        payload = event["payload"]
        if event["event_type"] == "ticket.updated":
            for name in NAMED:
                ids |= set(payload["changes"].get(name, {}).values())
            for labels in payload["changes"].get("label_ids", {}).values():
                ids |= set(labels or ())
        elif event["event_type"] == "ticket.assigned":
            ids |= {payload["from_user_id"], payload["assignee_user_id"]}
    return {identifier for identifier in ids if identifier}


def short(event: Mapping[str, Any]) -> list[str]:
    """The names of the fields that an event changed, for a summary of several."""
    if event["event_type"] == "ticket.updated":
        return [SHORT.get(name, name) for name in event["payload"]["changes"]]
    return [messages.SHORT_HAPPENED.get(event["event_type"], messages.THIS_TICKET)]


def grouped(relations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Relations grouped by their word, for the template."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for relation in relations:
        word = messages.RELATION_WORDS[relation["type"], relation["direction"] == "outgoing"]
        groups.setdefault(word, []).append(relation)
    return [
        {"name": word.capitalize(), "rows": groups[word]}
        for word in messages.RELATION_ORDER
        if word in groups
    ]
