"""Changing a versioned row: its fields and its ``updated_at`` move together.

The ORM compares the version it read in the UPDATE itself, so a change made meanwhile is noticed
(StaleDataError) and the unit of work runs anew; no update is ever lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from sqlalchemy.exc import IntegrityError

from app.core.clock import next_version
from app.core.errors import Conflict
from app.core.text import changes
from app.database.failures import is_unique_violation


@contextmanager
def duplicate_is_conflict(field: str, message: str) -> Iterator[None]:
    """Raise Conflict ``duplicate_key`` where a flush inside meets a unique index."""
    try:
        yield
    except IntegrityError as error:
        if not is_unique_violation(error):
            raise
        raise Conflict("duplicate_key", message, field=field) from error


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
