"""Changing a versioned row: its fields and its ``updated_at`` move together.

The ORM compares the version it read in the UPDATE itself, so a change made meanwhile is noticed
(StaleDataError) and the unit of work runs anew; no update is ever lost.
"""

from typing import Any, Protocol

from app.core.clock import next_version
from app.core.text import changes


class Versioned(Protocol):
    """A row with ``updated_at`` as its version."""

    updated_at: Any


def apply_changes(row: Versioned, wanted: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Set the fields that differ, raise the version if any did, and say what changed.

    The answer has the form of the payload ``changes``: ``{field: {from, to}}``.
    """
    before = {field: getattr(row, field) for field in wanted}
    changed = changes(before, wanted)
    for field in changed:
        setattr(row, field, wanted[field])
    if changed:
        touch(row)
    return changed


def touch(row: Versioned) -> None:
    """Raise the row's version."""
    row.updated_at = next_version(row.updated_at)
