"""Logging in and out.

Three short steps around the slow one: a place in the login windows is reserved, the password is
judged outside any unit of work, and the session is opened in the transaction that gives the place
back. All failures look and last the same; only the audit log tells them apart.
"""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import select, update

from app.accounts import credential_lock, names, passwords, sessions, throttle
from app.accounts.models import User, UserType
from app.accounts.sessions import OpenedSession, Peer
from app.audit.service import Target, record, record_separately
from app.config import Settings
from app.core import text
from app.core.actor import ANONYMOUS, Access, Actor, ActorKind, operation
from app.core.errors import InvalidCredentials, Unavailable
from app.database.session import reading, run_write, session

# How often a login is judged anew because the user's password changed while it was.
JUDGEMENTS = 3


@dataclass(frozen=True, slots=True)
class _Judged:
    """The verdict on a username and a password, and a new hash where the old one is outdated."""

    user_id: str | None
    failure: str | None
    hash: str | None = None
    rehashed: str | None = None


def human_actor(user: User, session_id: str | None = None) -> Actor:
    """The human as an actor."""
    return Actor(ActorKind.HUMAN, user_id=user.id, username=user.username, session_id=session_id)


@operation(Access.PUBLIC)
def log_in(
    actor: Actor, *, username: str, password: str, peer: Peer, settings: Settings
) -> OpenedSession:
    """Exchange a username and password for a new session; any old one of the browser ends.

    Raises InvalidCredentials, RateLimited, or InvalidField for what can be no credential. Opens
    its own units of work.
    """
    text.checked(username, "username", names.USERNAME_LENGTH)
    passwords.check_form(password, "password")
    name = names.looked_up(username)[: names.USERNAME_LENGTH]
    buckets = throttle.buckets_of(settings.secret_key, peer.address, name)
    attempt = throttle.reserve(buckets, name)
    for _ in range(JUDGEMENTS):
        judged = _judge(name, password, attempt, settings)
        if judged.failure is not None:
            break
        opened = run_write(partial(_open, actor, judged, attempt, peer, settings))
        if opened is not None:
            return opened
    _record_failure(name, judged)
    raise InvalidCredentials("The username or the password is wrong.")


def _judge(name: str, password: str, attempt: throttle.LoginAttempt, settings: Settings) -> _Judged:
    """Verify the password; a human who is unknown or inactive, or a bot, costs the same time."""
    with reading():
        user = session.scalar(
            select(User).where(User.username == name, User.type == UserType.HUMAN)
        )
    stored = user.password_hash if user is not None and user.is_active else None
    cost = passwords.cost_of(settings)
    try:
        matches = passwords.verify(stored, password, cost)
        if user is None:
            return _Judged(None, "user_not_found")
        if stored is None:
            return _Judged(user.id, "inactive")
        if not matches:
            return _Judged(user.id, "wrong_password")
        outdated = passwords.is_outdated(stored, cost)
        rehashed = passwords.hash_new(password, cost) if outdated else None
    except Unavailable:
        # Nothing was judged, so nothing counts.
        run_write(lambda: throttle.refund(attempt))
        raise
    return _Judged(user.id, None, stored, rehashed)


def _open(
    actor: Actor, judged: _Judged, attempt: throttle.LoginAttempt, peer: Peer, settings: Settings
) -> OpenedSession | None:
    """Open the session, unless the user was changed since the verdict."""
    user = session.scalar(
        select(User).where(User.id == judged.user_id).with_for_update(key_share=True)
    )
    if user is None or not user.is_active or user.password_hash != judged.hash:
        return None
    throttle.refund(attempt)
    if judged.rehashed is not None:
        # Not a change that anyone sees, so the row's version stays.
        session.execute(
            update(User).where(User.id == user.id).values(password_hash=judged.rehashed)
        )
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    return start_session(user, peer, settings)


def start_session(user: User, peer: Peer, settings: Settings) -> OpenedSession:
    """Open a session for a user whose login was judged good, and record it."""
    opened = sessions.open_session(user, peer.user_agent, settings.session_absolute_days)
    record(human_actor(user), "auth.login.success", Target("user", user.id), username=user.username)
    return opened


def _record_failure(name: str, judged: _Judged) -> None:
    known = judged.user_id is not None
    record_separately(
        Actor(ActorKind.HUMAN, user_id=judged.user_id, username=name) if known else ANONYMOUS,
        "auth.login.failure",
        Target("user", judged.user_id),
        username=names.as_logged(name),
        reason=judged.failure or "wrong_password",
    )


@operation(Access.HUMAN)
def log_out(actor: Actor) -> None:
    """End the session of this request."""
    credential_lock.lock_exclusive(actor.id)
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    record(actor, "auth.logout", Target("user", actor.user_id), username=actor.username)
