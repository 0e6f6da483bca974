"""Events of tickets in words, for every page that shows them, and the words for relations.

A sentence follows the name of its actor. On a list of several tickets it names its ticket; beside
the ticket itself it does not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from app.tickets.fields import UPDATED
from app.tickets.models import Priority
from app.web.filters import day

RELATION_WORDS = {
    ("blocks", True): "blocks",
    ("blocks", False): "is blocked by",
    ("relates_to", True): "relates to",
    ("relates_to", False): "relates to",
    ("duplicates", True): "duplicates",
    ("duplicates", False): "is duplicated by",
}
# In braces: the ticket, and the ticket after a word such as "on".
PLAIN = {
    "ticket.created": "created {ticket}",
    "ticket.deleted": "deleted {ticket}",
    "ticket.restored": "restored {ticket}",
    "ticket.link_added": "added the link {title}{to}",
    "ticket.link_removed": "removed the link {title}{of}",
    "ticket.link_changed": "updated the link {url}{of}",
    "comment.created": "commented{on}",
    "comment.updated": "edited a comment{on}",
    "comment.deleted": "deleted a comment{on}",
    "comment.restored": "restored a comment{on}",
    "file.added": "added the file {name}{on}",
    "file.deleted": "deleted the file {name}{on}",
    "comment.reacted": "{action} the reaction {reaction} to a comment{on}",
}
# The order of the groups of relations on the page.
RELATION_ORDER = ("is blocked by", "blocks", "relates to", "duplicates", "is duplicated by")
RELATION_TYPES = [(word, word) for word in RELATION_ORDER]
# Names of fields in a summary of several changes.
SHORT = {field.name: field.short for field in UPDATED}
SHORT_TYPES = {
    "ticket.state_changed": "state",
    "ticket.assigned": "assignee",
    "ticket.watcher_added": "watchers",
    "ticket.watcher_removed": "watchers",
    "ticket.relation_added": "relations",
    "ticket.relation_removed": "relations",
    "ticket.link_added": "links",
    "ticket.link_removed": "links",
}
# Fields whose values are ids of users or tickets.
NAMED = tuple(field.name for field in UPDATED if field.is_reference)
UNKNOWN = "someone"
PRIORITIES = [str(priority) for priority in Priority]


def sentence(
    event: Mapping[str, Any], ticket_id: str, names: Mapping[str, str], ticket: str = ""
) -> str:
    """The sentence of an event of a ticket, after its actor.

    ``names`` has the names of mentioned ids; ``ticket`` is the display id, where it is to be said.
    """
    kind, payload = event["event_type"], event["payload"]
    if kind in PLAIN:
        return _plain(kind, payload, ticket)
    match kind:
        case "ticket.updated":
            words = ", ".join(_changed(payload["changes"], names, ticket))
        case "ticket.assigned":
            words = _assigned(payload, names, ticket)
        case "ticket.state_changed":
            before = _after("from", payload["from_state_name"])
            words = f"moved{_then(ticket)}{before} to {payload['to_state_name']}"
        case "ticket.watcher_added" | "ticket.watcher_removed":
            words = _watched(event, ticket)
        case "ticket.relation_added" | "ticket.relation_removed":
            words = _relation(kind, payload, ticket_id, ticket)
        case _:
            words = kind.replace("_", " ").replace(".", " ")
    return words or f"changed {_it(ticket)}"


def _plain(kind: str, payload: Mapping[str, Any], ticket: str) -> str:
    # In a list, what was made or deleted has its title too.
    titled = ticket and payload.get("title")
    subject = f"{ticket}, {payload['title']}" if titled else ticket or "this ticket"
    after = {word: _after(word, ticket) for word in ("on", "to", "of")}
    return PLAIN[kind].format(**{**payload, "ticket": subject, **after})


def _it(ticket: str) -> str:
    return ticket or "this"


def _then(value: str | None) -> str:
    return f" {value}" if value else ""


def _after(word: str, value: str | None) -> str:
    return f" {word} {value}" if value else ""


def _watched(event: Mapping[str, Any], ticket: str) -> str:
    payload, is_added = event["payload"], event["event_type"].endswith("added")
    if payload["user_id"] == (event["actor"] or {}).get("id"):
        return f"{'started' if is_added else 'stopped'} watching {_it(ticket)}"
    if is_added:
        return f"added {payload['username']} as a watcher{_after('of', ticket)}"
    return f"removed {payload['username']} as a watcher{_after('of', ticket)}"


def _assigned(payload: Mapping[str, Any], names: Mapping[str, str], ticket: str) -> str:
    after = names.get(payload["assignee_user_id"], payload["assignee_username"])
    before = payload["from_user_id"]
    if before is None:
        return f"assigned {_it(ticket)} to {after}"
    of = _after("of", ticket)
    return f"changed the assignee{of} from {names.get(before, UNKNOWN)} to {after}"


def _changed(
    changes: Mapping[str, Mapping[str, Any]], names: Mapping[str, str], ticket: str
) -> Iterable[str]:
    for name, change in changes.items():
        before, after = change.get("from"), change.get("to")
        of = _after("of", ticket)
        if name == "title":
            yield f"changed the title{of} from “{before}” to “{after}”"
        elif name == "body":
            yield f"edited the description{of}"
        elif name == "priority":
            yield _prioritized(before, after, of)
        elif name == "rank":
            yield f"moved {_it(ticket)} {'up' if (after or '') < (before or '') else 'down'}"
        elif name == "due_date":
            yield _dated(before, after, of)
        elif name == "assignee_user_id":
            yield f"removed the assignee{_then(names.get(before or ''))}{of}"
        elif name == "reporter_user_id":
            yield f"changed the reporter{of} to {names.get(after or '', UNKNOWN)}"
        elif name == "parent_ticket_id":
            yield _moved_below(before, after, names, of)
        elif name == "label_ids":
            yield _relabelled(set(before or ()), set(after or ()), names, ticket)
        else:
            yield f"changed the {name.replace('_', ' ')}{of}"
        # The first of several changes names the ticket.
        ticket = ""


def _prioritized(before: Any, after: Any, of: str) -> str:
    if before in PRIORITIES and after in PRIORITIES:
        is_raised = PRIORITIES.index(after) > PRIORITIES.index(before)
        return f"{'raised' if is_raised else 'lowered'} the priority{of} to {after}"
    return f"changed the priority{of} to {after}"


def _dated(before: str | None, after: str | None, of: str) -> str:
    if not after:
        return f"removed the due date{_then(before and day(before))}{of}"
    if not before:
        return f"set the due date{of} to {day(after)}"
    return f"changed the due date{of} from {day(before)} to {day(after)}"


def _moved_below(before: str | None, after: str | None, names: Mapping[str, str], of: str) -> str:
    former = names.get(before or "")
    if not after:
        return f"removed the parent{_then(former)}{of}"
    return f"changed the parent{of}{_after('from', former)} to {names.get(after, 'a ticket')}"


def _relabelled(before: set[str], after: set[str], names: Mapping[str, str], ticket: str) -> str:
    parts = []
    for verb, word, ids in (("added", "to", after - before), ("removed", "from", before - after)):
        labels = sorted(names.get(label_id, "a deleted label") for label_id in ids)
        if labels:
            many = "label" if len(labels) == 1 else "labels"
            parts.append(f"{verb} the {many} {', '.join(labels)}{_after(word, ticket)}")
            ticket = ""
    return " and ".join(parts)


def _relation(event_type: str, payload: Mapping[str, Any], ticket_id: str, ticket: str) -> str:
    outgoing = payload["source_ticket_id"] == ticket_id
    word = RELATION_WORDS[payload["type"], outgoing]
    other = payload["target_display_id" if outgoing else "source_display_id"]
    verb = "noted" if event_type.endswith("added") else "removed"
    return f"{verb} that {_it(ticket)} {word} {other}"


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
    """The names of what an event changed, for a summary of several."""
    if event["event_type"] == "ticket.updated":
        return [SHORT.get(name, name) for name in event["payload"]["changes"]]
    return [SHORT_TYPES.get(event["event_type"], "this ticket")]


def grouped(relations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Relations in groups by their word, for the template."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for relation in relations:
        word = RELATION_WORDS[relation["type"], relation["direction"] == "outgoing"]
        groups.setdefault(word, []).append(relation)
    return [
        {"name": word.capitalize(), "rows": groups[word]}
        for word in RELATION_ORDER
        if word in groups
    ]
