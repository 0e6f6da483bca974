"""Words for the changes in an issue's history in Linear."""

from typing import Any

from app.importing.trackers import messages
from app.importing.trackers.download import entries, named

_PRIORITY_NAMES = ("none", "urgent", "high", "medium", "low")


def words(entry: dict[str, Any]) -> list[str]:
    """The changes of one history entry, in words."""
    found = []
    for title, kind in (("state", "State"), ("assignee", "Assignee")):
        old, new = named(entry.get(f"from{kind}")), named(entry.get(f"to{kind}"))
        if old and new:
            found.append(messages.changed(title, old, new))
        elif old or new:
            found.append(messages.was_set(title, new) if new else messages.removed(title, old))
    for verb in ("added", "removed"):
        names = ", ".join(named(one) for one in entries(entry.get(f"{verb}Labels")))
        if names:
            found.append(messages.labels_changed(verb, names))
    if entry.get("fromTitle") and entry.get("toTitle"):
        old, new = entry["fromTitle"], entry["toTitle"]
        found.append(messages.title_changed(old, new))
    before, after = entry.get("fromPriority"), entry.get("toPriority")
    if before != after and after is not None:
        found.append(messages.priority_changed(_priority(before), _priority(after)))
    return found


def _priority(value: Any) -> str:
    return _PRIORITY_NAMES[int(value)] if value in range(5) else "none"
