"""What happened to a ticket, as sentences, and its one thread of comments and events."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.web.filters import day, moment_ms

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
    "ticket.assigned": "assigned this to {assignee_username}",
    "ticket.deleted": "deleted this ticket",
    "ticket.restored": "restored this ticket",
    "ticket.watcher_added": "added the watcher {username}",
    "ticket.watcher_removed": "removed the watcher {username}",
}
# In the order in which groups of relations stand on the page.
RELATION_ORDER = (
    "is blocked by",
    "blocks",
    "relates to",
    "duplicates",
    "is duplicated by",
)
RELATION_TYPES = [(word, word) for word in RELATION_ORDER]


def sentence(event: Mapping[str, Any], ticket_id: str, labels: Mapping[str, str]) -> str:
    """What an event says after the name of who did it."""
    kind, payload = event["event_type"], event["payload"]
    if kind == "ticket.updated":
        return ", ".join(_changed(payload["changes"], labels)) or "changed this ticket"
    if kind in ("ticket.relation_added", "ticket.relation_removed"):
        return _relation(kind, payload, ticket_id)
    if kind == "ticket.state_changed":
        before = payload["from_state_name"]
        start = f"from {before} " if before else ""
        return f"moved this {start}to {payload['to_state_name']}"
    pattern = PLAIN.get(kind)
    return pattern.format_map(payload) if pattern else kind.replace("_", " ").replace(".", " ")


def _changed(changes: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> Iterable[str]:
    for name, change in changes.items():
        before, after = change.get("from"), change.get("to")
        if name == "title":
            yield f"changed the title from “{before}”"
        elif name == "body":
            yield "edited the description"
        elif name == "priority":
            yield f"changed the priority from {before} to {after}"
        elif name == "due_date":
            yield f"set the due date to {day(after)}" if after else "removed the due date"
        elif name == "assignee_user_id":
            yield "removed the assignee"
        elif name == "reporter_user_id":
            yield "changed the reporter"
        elif name == "parent_ticket_id":
            yield "changed the parent" if after else "removed the parent"
        elif name == "label_ids":
            yield _relabelled(set(before or ()), set(after or ()), labels)
        else:
            yield f"changed {name.replace('_', ' ')}"


def _relabelled(before: set[str], after: set[str], labels: Mapping[str, str]) -> str:
    """Labels that were deleted since have no name any more."""
    parts = []
    for verb, ids in (("added", after - before), ("removed", before - after)):
        names = sorted(labels.get(one, "a deleted label") for one in ids)
        if names:
            parts.append(f"{verb} {', '.join(names)}")
    return " and ".join(parts)


def _relation(event_type: str, payload: Mapping[str, Any], ticket_id: str) -> str:
    outgoing = payload["source_ticket_id"] == ticket_id
    word = RELATION_WORDS[payload["type"], outgoing]
    other = payload["target_display_id" if outgoing else "source_display_id"]
    if event_type.endswith("added"):
        return f"noted that this {word} {other}"
    return f"removed that this {word} {other}"


def told(
    events: Iterable[dict[str, Any]], ticket_id: str, labels: Iterable[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Events with their sentences."""
    names = {label["id"]: label["name"] for label in labels}
    return [{**event, "sentence": sentence(event, ticket_id, names)} for event in events]


def thread(comments: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Comments and events in one list, oldest first."""
    entries = [{"at": moment_ms(one["created_at"]), "comment": one} for one in comments]
    entries += [{"at": one["created_at"], "event": one} for one in events]
    return sorted(entries, key=lambda entry: entry["at"])


def grouped(relations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Relations under what this ticket is to the other one."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in relations:
        word = RELATION_WORDS[one["type"], one["direction"] == "outgoing"]
        groups.setdefault(word, []).append(one)
    return [
        {"name": word.capitalize(), "rows": groups[word]}
        for word in RELATION_ORDER
        if word in groups
    ]
