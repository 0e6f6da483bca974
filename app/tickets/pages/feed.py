"""Events of tickets as sentences, and the words for relations."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.tickets.fields import UPDATED
from app.web.filters import day

RELATION_WORDS = {
    ("blocks", True): "blocks",
    ("blocks", False): "is blocked by",
    ("relates_to", True): "relates to",
    ("relates_to", False): "relates to",
    ("duplicates", True): "duplicates",
    ("duplicates", False): "is duplicated by",
}
PLAIN = {
    "ticket.created": "created this ticket",
    "ticket.deleted": "deleted this ticket",
    "ticket.restored": "restored this ticket",
    "ticket.watcher_added": "made {username} a watcher",
    "ticket.watcher_removed": "stopped {username} watching",
    "comment.created": "commented",
    "comment.updated": "edited a comment",
    "comment.deleted": "deleted a comment",
    "comment.restored": "brought a deleted comment back",
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
}
# Fields whose values are ids of users or tickets.
NAMED = tuple(field.name for field in UPDATED if field.is_reference)
UNKNOWN = "someone"


def sentence(event: Mapping[str, Any], ticket_id: str, names: Mapping[str, str]) -> str:
    """The sentence of an event, after its actor; ``names`` has the names of mentioned ids."""
    kind, payload = event["event_type"], event["payload"]
    if kind == "ticket.updated":
        return ", ".join(_changed(payload["changes"], names)) or "changed this ticket"
    if kind == "ticket.assigned":
        return _assigned(payload, names)
    if kind in ("ticket.relation_added", "ticket.relation_removed"):
        return _relation(kind, payload, ticket_id)
    if kind == "ticket.state_changed":
        before = payload["from_state_name"]
        start = f"from {before} " if before else ""
        return f"moved this {start}to {payload['to_state_name']}"
    if payload.get("user_id") and payload["user_id"] == (event["actor"] or {}).get("id"):
        return "began to watch this" if kind.endswith("added") else "stopped watching this"
    pattern = PLAIN.get(kind)
    return pattern.format_map(payload) if pattern else kind.replace("_", " ").replace(".", " ")


def _assigned(payload: Mapping[str, Any], names: Mapping[str, str]) -> str:
    after = names.get(payload["assignee_user_id"], payload["assignee_username"])
    before = payload["from_user_id"]
    if before is None:
        return f"assigned this to {after}"
    return f"changed the assignee from {names.get(before, UNKNOWN)} to {after}"


def _changed(changes: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> Iterable[str]:
    for name, change in changes.items():
        before, after = change.get("from"), change.get("to")
        if name == "title":
            yield f"changed the title from “{before}” to “{after}”"
        elif name == "body":
            yield "edited the description"
        elif name == "priority":
            yield f"changed the priority from {before} to {after}"
        elif name == "rank":
            yield f"moved this {'up' if (after or '') < (before or '') else 'down'}"
        elif name == "due_date":
            yield _dated(before, after)
        elif name == "assignee_user_id":
            yield f"removed the assignee {names.get(before, '')}".rstrip() if before else "assigned"
        elif name == "reporter_user_id":
            yield f"changed the reporter to {names.get(after or '', UNKNOWN)}"
        elif name == "parent_ticket_id":
            yield _moved_below(before, after, names)
        elif name == "label_ids":
            yield _relabelled(set(before or ()), set(after or ()), names)
        else:
            yield f"changed {name.replace('_', ' ')}"


def _dated(before: str | None, after: str | None) -> str:
    if not after:
        return f"removed the due date {day(before)}" if before else "removed the due date"
    if not before:
        return f"set the due date to {day(after)}"
    return f"changed the due date from {day(before)} to {day(after)}"


def _moved_below(before: str | None, after: str | None, names: Mapping[str, str]) -> str:
    if not after:
        return f"removed the parent {names.get(before or '', '')}".rstrip()
    start = f"from {names[before]} " if before and before in names else ""
    return f"changed the parent {start}to {names.get(after, 'a ticket')}"


def _relabelled(before: set[str], after: set[str], names: Mapping[str, str]) -> str:
    parts = []
    for verb, ids in (("added", after - before), ("removed", before - after)):
        labels = sorted(names.get(label_id, "a deleted label") for label_id in ids)
        if labels:
            word = "label" if len(labels) == 1 else "labels"
            parts.append(f"{verb} the {word} {', '.join(labels)}")
    return " and ".join(parts)


def _relation(event_type: str, payload: Mapping[str, Any], ticket_id: str) -> str:
    outgoing = payload["source_ticket_id"] == ticket_id
    word = RELATION_WORDS[payload["type"], outgoing]
    other = payload["target_display_id" if outgoing else "source_display_id"]
    if event_type.endswith("added"):
        return f"noted that this {word} {other}"
    return f"removed that this {word} {other}"


def mentioned(events: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of users and tickets in the sentences of these events."""
    ids: set[str] = set()
    for event in events:
        payload = event["payload"]
        if event["event_type"] == "ticket.updated":
            for name in NAMED:
                ids |= set(payload["changes"].get(name, {}).values())
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
