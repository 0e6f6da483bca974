"""Where one is logged in: seeing one's own sessions and ending them from afar."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from app.accounts import credential_lock
from app.accounts.models import UserSession
from app.audit.service import Target, record
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.session import session


@operation(Access.HUMAN)
def list_own(actor: Actor) -> Sequence[UserSession]:
    """The person's sessions that are not past their end, the one used last first."""
    statement = select(UserSession).where(
        UserSession.user_id == actor.id, UserSession.expires_at > now_ms()
    )
    return session.scalars(statement.order_by(UserSession.last_seen_at.desc())).all()


@operation(Access.HUMAN)
def end_own(actor: Actor, session_id: str) -> None:
    """End one of one's own sessions, recorded as the logout that it is; raises NotFound."""
    identifier = as_uuid(session_id)
    credential_lock.change(actor.id)
    ended = session.scalars(
        delete(UserSession)
        .where(UserSession.id == identifier, UserSession.user_id == actor.id)
        .returning(UserSession.id)
    ).all()
    if not ended:
        raise NotFound("session", session_id)
    _record(actor)


@operation(Access.HUMAN)
def end_others(actor: Actor) -> int:
    """End all of one's own sessions but this one; how many there were."""
    credential_lock.change(actor.id)
    ended = session.scalars(
        delete(UserSession)
        .where(UserSession.user_id == actor.id, UserSession.id != actor.session_id)
        .returning(UserSession.id)
    ).all()
    for _ in ended:
        _record(actor)
    return len(ended)


def _record(actor: Actor) -> None:
    record(actor, "auth.logout", Target("user", actor.user_id), username=actor.username)
