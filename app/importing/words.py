"""The vocabulary of other trackers, mapped to priorities, states and relations."""

from app.importing.issues import MEDIUM, MENTION_LINK
from app.projects.models import StateCategory
from app.tickets.models import Priority, RelationType

PRIORITIES = (Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW, Priority.LOW)

_URGENCY = {
    **dict.fromkeys(("0", "p0", "urgent", "highest", "blocker", "critical", "immediate"), 0),
    **dict.fromkeys(("1", "p1", "high", "major", "important"), 1),
    **dict.fromkeys(("2", "p2", "medium", "normal", "moderate", "default"), MEDIUM),
    **dict.fromkeys(("none", "no priority", "not set", ""), MEDIUM),
    **dict.fromkeys(("3", "p3", "low", "minor"), 3),
    **dict.fromkeys(("4", "p4", "lowest", "trivial", "backlog"), 4),
}

_CATEGORIES = {
    **dict.fromkeys(
        (
            *("closed", "done", "resolved", "completed", "complete", "cancelled", "canceled"),
            *("fixed", "rejected", "won't do", "wontfix", "won't fix", "duplicate", "released"),
        ),
        StateCategory.DONE,
    ),
    **dict.fromkeys(
        ("open", "new", "backlog", "todo", "to do", "deferred", "reopened", "unstarted", "triage"),
        StateCategory.BACKLOG,
    ),
    **dict.fromkeys(
        (
            *("in progress", "active", "doing", "started", "in review", "review", "blocked"),
            *("indeterminate", "hooked", "pinned", "selected for development", "testing"),
        ),
        StateCategory.ACTIVE,
    ),
}

# The state name that each status means, if the project has that state. Categories are coarser:
# "doing" and "in review" are both active.
STATE_NAMES = {
    **dict.fromkeys(("doing", "started", "active", "wip", "indeterminate"), "inprogress"),
    **dict.fromkeys(("review", "code review"), "inreview"),
    **dict.fromkeys(("selected for development", "ready"), "todo"),
}

# Kinds that a ticket type covers; any other kind becomes a label.
PLAIN_KINDS = frozenset({"epic", "story", "task", "subtask", "sub-task"})

RELATED_WORDS = {
    MENTION_LINK: RelationType.RELATES_TO,
    "related": RelationType.RELATES_TO,
    "relates-to": RelationType.RELATES_TO,
    "relates_to": RelationType.RELATES_TO,
    "discovered-from": RelationType.RELATES_TO,
    "duplicates": RelationType.DUPLICATES,
    "blocks": RelationType.BLOCKS,
}


def urgency(word: str) -> int | None:
    """The priority from 0 to 4 that a word or number means; None if unknown."""
    return _URGENCY.get(word.strip().casefold())


def category(status: str) -> StateCategory | None:
    """The category that a status means; None if unknown."""
    return _CATEGORIES.get(status.strip().casefold().replace("_", " "))
