"""How far a person has read: one marker for each subject, which only moves forward.

A marker is the reader's own note on what they saw; it changes nothing that anyone else sees, and so
records no event.
"""

from sqlalchemy.exc import IntegrityError

from app.accounts.models import ReadMarker
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.database.session import savepoint, session


@operation(Access.HUMAN)
def marker(actor: Actor, subject: str) -> ReadMarker | None:
    """The person's marker of a subject, such as ``bot:<id>``."""
    return session.get(ReadMarker, (actor.id, subject))


@operation(Access.HUMAN)
def move_marker(actor: Actor, subject: str, event_id: str) -> None:
    """Move the marker to an event, unless it stands there or further."""
    found = session.get(ReadMarker, (actor.id, subject), with_for_update=True)
    if found is None:
        try:
            with savepoint():
                session.add(
                    ReadMarker(
                        user_id=actor.id,
                        subject=subject,
                        event_id=event_id,
                        updated_at=now_ms(),
                    )
                )
        except IntegrityError:
            # Another of the person's tabs made it just now.
            found = session.get(ReadMarker, (actor.id, subject), with_for_update=True)
        else:
            return
    if found is not None and found.event_id < event_id:
        found.event_id = event_id
        found.updated_at = now_ms()
        session.flush()
