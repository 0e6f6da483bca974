"""Turning the database's refusal of a duplicate into the conflict that clients know.

Checking first and inserting then leaves a gap on PostgreSQL; the unique index closes it, and this
names what it means. The check is still worth its query: it keeps the transaction alive.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

from app.core.errors import Conflict
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
