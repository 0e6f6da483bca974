"""Texts of the pages of tickets, boards and lists."""

from collections.abc import Mapping, Sequence
from typing import Any

SELECT_TICKETS = "Select some tickets first."


def too_many_at_once(limit: int) -> str:
    return f"You can change up to {limit} tickets at once. Narrow the filters."


SELECT_WHAT_TO_CHANGE = "Select what to change."
CHANGED = "changed"
DELETED = "deleted"
MOVED = "moved"


def counted(changed: int, verb: str) -> str:
    return f"{changed} {verb}"


def also_skipped(skipped: int, why: str) -> str:
    return f", {skipped} skipped ({why})"


AND_OTHER_REASONS = "and other reasons"
SELECT_A_STATE = "Select a state for the tickets."
MOVED_AND_STATE_DELETED = "Tickets moved, state deleted"
SELECT_A_LABEL = "Select a label."
LABELS_MERGED = "Labels merged"
TEMPLATE_DELETED = "Template deleted"
TEXT = "Text"
ME = "Me"


def named(name: str, kind: str) -> str:
    return f"{name} ({kind})"


DEACTIVATED = "deactivated"


BY_PRIORITY = "By priority"
BY_DUE_DATE = "By due date"
BY_LAST_UPDATE = "By last update"


# Pages of a ticket
WRITE_A_COMMENT = "Write a comment first."


def ticket_not_found(number: str) -> str:
    return f"Ticket {number} not found."


def open_below(count: int, shown: str) -> str:
    return "1 subticket is still open." if count == 1 else f"{shown} subtickets are still open."


SELECT_A_RELATION = "Select a relation."
ENTER_A_VALUE = "Enter a value."


def overtaken(value: str) -> str:
    return f"Someone changed this to {value}. Save again to overwrite it."


LINK = "Link"
BRANCH_NAME = "Branch name"
MARKDOWN = "Markdown"
PROMPT = "Prompt for an agent"


def prompt(display_id: str, title: str) -> str:
    return (
        f"Work on {display_id}: {title}\n\nRead ticket://{display_id} with its comments and "
        "relations first. Assign it to yourself and move it to a state that means in progress. "
        "When you are done, add a comment that says what you did, and move it on. If you need "
        "a decision, ask in a comment and assign it to its reporter."
    )


# Moving cards and changing one field
def moved_to(reference: str, name: str) -> str:
    return f"{reference} moved to {name}"


def moved_with_open(reference: str, state: str, below: str) -> str:
    return f"{reference} moved to {state}. {below}"


def moved(reference: str) -> str:
    return f"{reference} moved"


def changed_swimlanes(reference: str) -> str:
    return f"{reference} changed swimlanes"


UNDO = "Undo"
SOMEONE = "Someone"


def has_moved(who: str, reference: str, name: str) -> str:
    return f"{who} has moved {reference} to {name}"


def has_changed(who: str, reference: str) -> str:
    return f"{who} has changed {reference}"


MOVE_ANYWAY = "Move anyway"
SELECT_AGAIN = "Someone changed this. Select again."
RELOAD_BOARD = "This board was opened before an upgrade. Reload the page."


def overtaken_by_someone(reference: str) -> str:
    return f"Someone else changed {reference} first. Nothing was saved"


def now_has(reference: str, words: str) -> str:
    return f"{reference}: {words}"


def has_labels(labels: str) -> str:
    return f"labels {labels}"


HAS_NO_LABELS = "no labels"


def has_due_date(day: str) -> str:
    return f"due {day}"


HAS_NO_DUE_DATE = "no due date"


def has_parent(display_id: str) -> str:
    return f"parent {display_id}"


HAS_NO_PARENT = "no parent"


def has_priority(priority: str) -> str:
    return f"{priority} priority"


HAS_NO_ASSIGNEE = "unassigned"


def has_assignee(name: str) -> str:
    return f"assigned to {name}"


# What a bot had read
READ_PAGE = "Read revision {read} of the page"
READ_EARLIER_PAGE = "Read revision {read} of the page, not {latest}"
PAGE_NOT_READ = "Did not read the page"
PAGE_MAY_NOT_BE_READ = "May not have read the page"
READ_TICKET = "Read the ticket"
READ_EARLIER_TICKET = "Read an earlier version of the ticket"
TICKET_NOT_READ = "Did not read the ticket"
TICKET_MAY_NOT_BE_READ = "May not have read the ticket"
READ_EARLIER_RULES = "read an earlier revision of the house rules"
RULES_NOT_READ = "did not read the house rules"


def all_comments(count: int) -> str:
    return f"all {count} comments"


def some_comments(read: int, count: int) -> str:
    return f"{read} of {count} comments"


ITS_COMMENT = "its comment"


def and_comments(some: str) -> str:
    return f" and {some}"


def but_comments(some: str) -> str:
    return f", but {some}"


AND_NO_COMMENTS = " and no comments"
NOT_ITS_COMMENT = ", not its comment"
MAY_NOT_HAVE_BEEN_READ = " may not have been read"
NOT_READ = " not read"


def comments_until(missing: int) -> str:
    return f"; {missing} comments until "


COMMENT_FROM = "; comment from "
COMMENTS_FROM = "; comments from "


# Events of a ticket. A sentence follows the name of its actor; ``ticket`` is the display id if it
# is named. In braces: the ticket, and the ticket after a word such as "on".
HAPPENED = {
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
THIS_TICKET = "this ticket"
# What changed, in a summary of several changes.
SHORT_HAPPENED = {
    "ticket.state_changed": "state",
    "ticket.assigned": "assignee",
    "ticket.watcher_added": "watchers",
    "ticket.watcher_removed": "watchers",
    "ticket.relation_added": "relations",
    "ticket.relation_removed": "relations",
    "ticket.link_added": "links",
    "ticket.link_removed": "links",
    "ticket.link_changed": "links",
    "file.added": "files",
    "file.deleted": "files",
}
# By the type of a relation, and whether it is outgoing.
RELATION_WORDS = {
    ("blocks", True): "blocks",
    ("blocks", False): "is blocked by",
    ("relates_to", True): "relates to",
    ("relates_to", False): "relates to",
    ("duplicates", True): "duplicates",
    ("duplicates", False): "is duplicated by",
}
_RELATED = {
    "blocks": "blocking",
    "is blocked by": "blocked by",
    "relates to": "related to",
    "duplicates": "a duplicate of",
    "is duplicated by": "duplicated by",
}
# The order of the groups of relations on the page.
RELATION_ORDER = ("is blocked by", "blocks", "relates to", "duplicates", "is duplicated by")
UNKNOWN = "someone"
A_TICKET = "a ticket"
DELETED_LABEL = "a deleted label"


def _then(value: str | None) -> str:
    return f" {value}" if value else ""


def _after(word: str, value: str | None) -> str:
    return f" {word} {value}" if value else ""


def happened(event_type: str, payload: Mapping[str, Any], ticket: str) -> str:
    # In a list, created and deleted tickets are named with their title.
    is_titled = ticket and payload.get("title")
    subject = f"{ticket}, {payload['title']}" if is_titled else ticket or THIS_TICKET
    after = {word: _after(word, ticket) for word in ("on", "to", "of")}
    return HAPPENED[event_type].format(**{**payload, "ticket": subject, **after})


def moved_between(ticket: str, before: str | None, after: str) -> str:
    return f"moved{_then(ticket)}{_after('from', before)} to {after}"


def watcher(ticket: str, username: str, *, is_added: bool) -> str:
    verb = "added" if is_added else "removed"
    return f"{verb} {username} as a watcher{_after('of', ticket)}"


def reassigned(ticket: str, before: str, after: str) -> str:
    return f"changed the assignee{_after('of', ticket)} from {before} to {after}"


def unassigned(ticket: str, before: str | None) -> str:
    return f"removed the assignee{_then(before)}{_after('of', ticket)}"


def retitled(ticket: str, before: str, after: str) -> str:
    return f"changed the title{_after('of', ticket)} from “{before}” to “{after}”"


def description_edited(ticket: str) -> str:
    return f"edited the description{_after('of', ticket)}"


def prioritized(ticket: str, after: str, *, is_raised: bool | None) -> str:
    verb = "changed" if is_raised is None else "raised" if is_raised else "lowered"
    return f"{verb} the priority{_after('of', ticket)} to {after}"


def due_date_changed(ticket: str, before: str | None, after: str | None) -> str:
    of = _after("of", ticket)
    if not after:
        return f"removed the due date{_then(before)}{of}"
    if not before:
        return f"set the due date{of} to {after}"
    return f"changed the due date{of} from {before} to {after}"


def reporter_changed(ticket: str, after: str) -> str:
    return f"changed the reporter{_after('of', ticket)} to {after}"


def parent_changed(ticket: str, before: str | None, after: str | None) -> str:
    of = _after("of", ticket)
    if not after:
        return f"removed the parent{_then(before)}{of}"
    return f"changed the parent{of}{_after('from', before)} to {after}"


def relabeled(ticket: str, added: Sequence[str], removed: Sequence[str]) -> str:
    parts = []
    for verb, word, labels in (("added", "to", added), ("removed", "from", removed)):
        if labels:
            many = "label" if len(labels) == 1 else "labels"
            parts.append(f"{verb} the {many} {', '.join(labels)}{_after(word, ticket)}")
            # Only the first of both names the ticket.
            ticket = ""
    return " and ".join(parts)


def field_changed(ticket: str, name: str) -> str:
    return f"changed the {name.replace('_', ' ')}{_after('of', ticket)}"


def _it(ticket: str) -> str:
    return ticket or "this"


def has_changed_something(ticket: str) -> str:
    return f"changed {_it(ticket)}"


def watching(ticket: str, *, is_added: bool) -> str:
    return f"{'started' if is_added else 'stopped'} watching {_it(ticket)}"


def assigned(ticket: str, after: str) -> str:
    return f"assigned {_it(ticket)} to {after}"


def ranked(ticket: str, *, is_up: bool) -> str:
    return f"moved {_it(ticket)} {'up' if is_up else 'down'}"


def related(ticket: str, word: str, other: str, *, is_added: bool) -> str:
    again = "" if is_added else "no longer "
    return f"marked {_it(ticket)} as {again}{_RELATED[word]} {other}"
