"""Personal data of users: choices about pages, and read markers.

Nobody else sees either, so neither records an event.
"""

from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from app.accounts.models import Preferences, ReadMarker
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.database.session import Base, savepoint, session

# The choice whether the inbox shows news of tickets that the person created or commented on.
TAKING_PART = "taking_part"

Row = TypeVar("Row", bound=Base)


def choices_of(user_id: str) -> dict[str, Any]:
    """The choices of a user; a name that is missing has its default."""
    row = session.get(Preferences, user_id)
    return dict(row.choices) if row is not None else {}


@operation(Access.HUMAN)
def choose(actor: Actor, choices: dict[str, str]) -> None:
    """Add choices to the stored ones; ``web/choices.py`` says which exist."""
    new = Preferences(user_id=actor.id, choices=choices, updated_at=now_ms())
    row = lock_or_insert(new, actor.id)
    if row is not None:
        row.choices = {**row.choices, **choices}
        row.updated_at = now_ms()
        session.flush()


@operation(Access.HUMAN)
def marker(actor: Actor, subject: str) -> ReadMarker | None:
    """The person's marker of a subject, such as ``bot:<id>``."""
    return session.get(ReadMarker, (actor.id, subject))


@operation(Access.HUMAN)
def move_marker(actor: Actor, subject: str, event_id: str, *, may_go_back: bool = False) -> None:
    """Move the marker of a subject to an event, forward unless it ``may_go_back``."""
    new = ReadMarker(user_id=actor.id, subject=subject, event_id=event_id, updated_at=now_ms())
    row = lock_or_insert(new, (actor.id, subject))
    if row is not None and (may_go_back or row.event_id < event_id):
        row.event_id = event_id
        row.updated_at = now_ms()
        session.flush()


def lock_or_insert(new: Row, key: str | tuple[str, str]) -> Row | None:
    """The stored row of this key, locked; None where ``new`` was inserted instead."""
    row = session.get(type(new), key, with_for_update=True)
    if row is not None:
        return row
    try:
        with savepoint():
            session.add(new)
    except IntegrityError:
        # Another tab of the same person inserted the row first.
        return session.get(type(new), key, with_for_update=True)
    return None
