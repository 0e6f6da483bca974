"""Browser sessions of humans: an opaque random token in the cookie, its hash in the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

from app.accounts import credential_lock, tokens
from app.accounts.models import User, UserSession
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import Access, Actor, ActorKind, operation
from app.core.clock import DAY_MS, now_ms
from app.core.errors import NotFound, Unauthenticated
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
    credential_lock.lock_exclusive(actor.id)
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
    credential_lock.lock_exclusive(actor.id)
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


USER_AGENT_LENGTH = 200

_ITSELF = select(User.id).where(User.id == bindparam("user_id"))


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a login: the address that counts, and the user agent.

    One that is local is on this machine, with nothing in between.
    """

    address: str
    user_agent: str
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session just opened; ``token`` goes into the cookie and is known nowhere else."""

    user: User
    id: str
    token: str
    created_at: int
    expires_at: int

    @property
    def max_age(self) -> int:
        """For how many seconds the cookie lives."""
        return (self.expires_at - self.created_at) // 1000


def open_session(user: User, user_agent: str, absolute_days: int) -> OpenedSession:
    """Open a session under a new token, whatever token the browser came with (no fixation)."""
    identifier = ids.new_id()
    created_at = now_ms()
    token = tokens.new_session_token()
    opened = OpenedSession(user, identifier, token, created_at, created_at + absolute_days * DAY_MS)
    session.execute(
        insert(UserSession).values(
            id=identifier,
            user_id=user.id,
            token_hash=tokens.hashed(token),
            user_agent=user_agent.replace("\x00", "")[:USER_AGENT_LENGTH],
            created_at=created_at,
            last_seen_at=created_at,
            expires_at=opened.expires_at,
        )
    )
    return opened


def end(session_id: str) -> None:
    """End one session."""
    session.execute(delete(UserSession).where(UserSession.id == session_id))


def end_all(user_id: str, *, but: str | None = None) -> int:
    """End all sessions of a user, except possibly one; how many there were."""
    statement = delete(UserSession).where(UserSession.user_id == user_id)
    if but is not None:
        statement = statement.where(UserSession.id != but)
    return len(session.scalars(statement.returning(UserSession.id)).all())


def confirm(actor: Actor) -> None:
    """Judge the actor again in the transaction at hand; raises Unauthenticated.

    For verbs that hash a password between resolving the credential and writing: a session that was
    ended meanwhile must not write.
    """
    if actor.kind is ActorKind.SYSTEM:
        # A command of whoever runs the server.
        return
    credential_lock.lock_shared(_ITSELF, user_id=actor.user_id)
    statement = select(User.id).where(User.id == actor.user_id, User.is_active)
    if actor.session_id is not None:
        statement = statement.join(UserSession, UserSession.user_id == User.id).where(
            UserSession.id == actor.session_id
        )
    if session.scalar(statement) is None:
        raise Unauthenticated
