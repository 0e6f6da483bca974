"""A person's choices about pages, kept for the browsers that they log in with.

Like a read marker, they change nothing that anyone else sees, and so record no event.
"""

from typing import Any

from sqlalchemy.exc import IntegrityError

from app.accounts.models import Preferences
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.database.session import savepoint, session


def of_user(user_id: str) -> dict[str, Any]:
    """What this user chose; a name that is missing means its default."""
    found = session.get(Preferences, user_id)
    return dict(found.choices) if found is not None else {}


@operation(Access.HUMAN)
def choose(actor: Actor, choices: dict[str, str]) -> None:
    """Keep these choices beside the others; which there are is said in ``web/choices.py``."""
    found = session.get(Preferences, actor.id, with_for_update=True)
    if found is None:
        try:
            with savepoint():
                session.add(Preferences(user_id=actor.id, choices=choices, updated_at=now_ms()))
        except IntegrityError:
            # Another of the person's tabs made them just now.
            found = session.get(Preferences, actor.id, with_for_update=True)
        else:
            return
    if found is not None:
        found.choices = {**found.choices, **choices}
        found.updated_at = now_ms()
        session.flush()
