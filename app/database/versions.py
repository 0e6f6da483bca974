"""Optimistic locking: the fields of a versioned row and its ``updated_at`` change together.

The ORM's UPDATE compares the version that was read. If the row has changed, it raises
StaleDataError and the unit of work runs again, so that no update is lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from sqlalchemy.exc import IntegrityError

from app.core import ids
from app.core.clock import next_version
from app.core.errors import Conflict
from app.core.text import changes
from app.database.failures import is_unique_violation
from app.database.session import Base, session

Model = TypeVar("Model", bound=Base)


@contextmanager
def duplicate_is_conflict(field: str, message: str) -> Iterator[None]:
    """Raise Conflict ``duplicate_key`` if a flush inside violates a unique index."""
    try:
        yield
    except IntegrityError as error:
        if not is_unique_violation(error):
            raise
        raise Conflict("duplicate_key", message, field=field) from error


def add_versioned(model: type[Model], **columns: Any) -> Model:
    """Add a row with a new id; its ``created_at`` and first version are the time of the id."""
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    row = model(id=identifier, created_at=created_at, updated_at=created_at, **columns)
    session.add(row)
    return row


class Versioned(Protocol):
    """A row with ``updated_at`` as its version."""

    updated_at: Any


def apply_changes(row: Versioned, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Set the fields that differ and raise the version if any does.

    Returns the payload ``changes``: ``{field: {from, to}}``.
    """
    before = {field: getattr(row, field) for field in values}
    changed = changes(before, values)
    for field in changed:
        setattr(row, field, values[field])
    if changed:
        touch(row)
    return changed


def touch(row: Versioned) -> None:
    row.updated_at = next_version(row.updated_at)
