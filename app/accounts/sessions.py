"""Browser sessions of humans: an opaque random token in the cookie, its hash in the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, delete, insert, or_, select

from app.accounts import credentials
from app.accounts.models import User, UserSession
from app.audit.service import Target, record
from app.config import Settings
from app.core import ids
from app.core.actor import Access, Actor, ActorKind, operation
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.core.errors import NotFound, Unauthenticated
from app.core.ids import as_uuid
from app.database.session import session

USER_AGENT_LENGTH = 200

_USER = select(User.id).where(User.id == bindparam("user_id"))


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session; the plaintext ``token`` goes into the cookie and is stored nowhere."""

    user: User
    id: str
    token: str
    created_at: int
    expires_at: int

    @property
    def max_age(self) -> int:
        """The lifetime of the cookie, in seconds."""
        return (self.expires_at - self.created_at) // 1000


def idle_since(settings: Settings) -> int:
    """A session that was last seen at this time or before it has ended by idleness."""
    return now_ms() - settings.session_idle_minutes * MINUTE_MS


def is_over(settings: Settings) -> ColumnElement[bool]:
    """The condition on sessions past their absolute or idle end, whose rows a sweep deletes."""
    return or_(UserSession.expires_at <= now_ms(), UserSession.last_seen_at <= idle_since(settings))


@operation(Access.HUMAN)
def list_own(actor: Actor, settings: Settings) -> Sequence[UserSession]:
    """The person's sessions that are not over, the most recently used first."""
    statement = select(UserSession).where(UserSession.user_id == actor.id, ~is_over(settings))
    return session.scalars(statement.order_by(UserSession.last_seen_at.desc())).all()


@operation(Access.HUMAN)
def end_own(actor: Actor, session_id: str) -> None:
    """End one of one's own sessions, recorded as a logout; raises NotFound."""
    identifier = as_uuid(session_id)
    credentials.lock_exclusive(actor.id)
    ended = session.scalars(
        delete(UserSession)
        .where(UserSession.id == identifier, UserSession.user_id == actor.id)
        .returning(UserSession.id)
    ).all()
    if not ended:
        raise NotFound("session", session_id)
    record_logout(actor)


@operation(Access.HUMAN)
def end_others(actor: Actor) -> int:
    """End all of one's own sessions but this one; returns their number."""
    credentials.lock_exclusive(actor.id)
    ended = end_all(actor.id, but=actor.session_id)
    for _ in range(ended):
        record_logout(actor)
    return ended


def record_logout(actor: Actor) -> None:
    record(actor, "auth.logout", Target("user", actor.user_id), username=actor.username)


def open_session(
    user: User,
    user_agent: str,
    absolute_days: int,
    *,
    identity_id: str | None = None,
    provider_session_hash: str | None = None,
    passkey_id: str | None = None,
) -> OpenedSession:
    """Open a session under a new token; the browser's old token is never reused (no fixation).

    A single sign-on session names the identity and, if any, the provider's session. A session from
    a passkey names the passkey.
    """
    identifier = ids.new_id()
    created_at = now_ms()
    token = credentials.new_secret()
    opened = OpenedSession(user, identifier, token, created_at, created_at + absolute_days * DAY_MS)
    session.execute(
        insert(UserSession).values(
            id=identifier,
            user_id=user.id,
            token_hash=credentials.hashed(token),
            user_agent=user_agent.replace("\x00", "")[:USER_AGENT_LENGTH],
            created_at=created_at,
            last_seen_at=created_at,
            expires_at=opened.expires_at,
            identity_id=identity_id,
            provider_session_hash=provider_session_hash,
            passkey_id=passkey_id,
        )
    )
    return opened


def end(session_id: str) -> None:
    session.execute(delete(UserSession).where(UserSession.id == session_id))


def end_all(user_id: str, *, but: str | None = None) -> int:
    """End all sessions of a user, except ``but``; returns their number."""
    statement = delete(UserSession).where(UserSession.user_id == user_id)
    if but is not None:
        statement = statement.where(UserSession.id != but)
    return len(session.scalars(statement.returning(UserSession.id)).all())


def end_of_passkey(user_id: str, passkey_id: str, *, but: str | None) -> None:
    """End the sessions that a passkey opened, except ``but``."""
    statement = delete(UserSession).where(
        UserSession.user_id == user_id, UserSession.passkey_id == passkey_id
    )
    if but is not None:
        statement = statement.where(UserSession.id != but)
    session.execute(statement)


def confirm(actor: Actor) -> None:
    """Check in the current transaction that the actor may still act; raises Unauthenticated.

    For verbs that hash a password between resolving the credential and writing: a session that
    ended meanwhile must not write.
    """
    if actor.kind is ActorKind.SYSTEM:
        # An operator's command, which needs no credential.
        return
    credentials.lock_shared(_USER, user_id=actor.user_id)
    statement = select(User.id).where(User.id == actor.user_id, User.is_active)
    if actor.session_id is not None:
        statement = statement.join(UserSession, UserSession.user_id == User.id).where(
            UserSession.id == actor.session_id
        )
    if session.scalar(statement) is None:
        raise Unauthenticated
