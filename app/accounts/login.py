"""Logging in and out.

A login reserves an attempt in the login windows, verifies the password outside any unit of work,
and opens the session in the transaction that refunds the attempt. All failures look and take the
same; only the audit log tells them apart.
"""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import select, update

from app.accounts import credentials, names, passwords, sessions, throttle
from app.accounts.models import User, UserType
from app.accounts.sessions import OpenedSession, Peer
from app.audit.service import Target, record, record_separately
from app.config import Settings
from app.core import text
from app.core.actor import ANONYMOUS, Access, Actor, ActorKind, operation
from app.core.errors import InvalidCredentials
from app.database.session import reading, run_write, session

# How often a password is verified again because the user's hash changed meanwhile.
VERIFICATIONS = 3


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The verdict on a username and a password, and a new hash where the old one is outdated."""

    user_id: str | None
    failure: str | None
    hash: str | None = None
    rehashed: str | None = None


def human_actor(user: User, session_id: str | None = None) -> Actor:
    return Actor(ActorKind.HUMAN, user_id=user.id, username=user.username, session_id=session_id)


@operation(Access.PUBLIC)
def log_in(
    actor: Actor, *, username: str, password: str, peer: Peer, settings: Settings
) -> OpenedSession:
    """Exchange a username and password for a new session; the browser's old session ends.

    Opens its own units of work. Raises InvalidCredentials, RateLimited, or InvalidField for text
    that no username or password can be.
    """
    text.checked(username, "username", names.USERNAME_LENGTH)
    passwords.check_form(password, "password")
    name = names.looked_up(username)[: names.USERNAME_LENGTH]
    attempt = throttle.reserve(settings.secret_key, peer.address, name)
    for _ in range(VERIFICATIONS):
        verdict = _verify(name, password, attempt, settings)
        if verdict.failure is not None:
            break
        opened = run_write(partial(_open, actor, verdict, attempt, peer, settings))
        if opened is not None:
            return opened
    _record_failure(name, verdict)
    raise InvalidCredentials("Incorrect username or password.")


def _verify(
    name: str, password: str, attempt: throttle.LoginAttempt, settings: Settings
) -> _Verdict:
    """Verify the password, in the same time for bots and for unknown or inactive humans."""
    with reading():
        user = session.scalar(
            select(User).where(User.username == name, User.type == UserType.HUMAN)
        )
    stored = user.password_hash if user is not None and user.is_active else None
    cost = passwords.cost_of(settings)
    with throttle.refunded_if_unavailable(attempt):
        matches = passwords.verify(stored, password, cost)
        if user is None:
            return _Verdict(None, "user_not_found")
        if not user.is_active:
            return _Verdict(user.id, "inactive")
        if stored is None or not matches:
            return _Verdict(user.id, "wrong_password")
        outdated = passwords.is_outdated(stored, cost)
        rehashed = passwords.hash_new(password, cost) if outdated else None
        return _Verdict(user.id, None, stored, rehashed)


def _open(
    actor: Actor, verdict: _Verdict, attempt: throttle.LoginAttempt, peer: Peer, settings: Settings
) -> OpenedSession | None:
    """Open the session; None where the user changed after the verdict."""
    user = session.scalar(
        select(User).where(User.id == verdict.user_id).with_for_update(key_share=True)
    )
    if user is None or not user.is_active or user.password_hash != verdict.hash:
        return None
    throttle.refund(attempt)
    if verdict.rehashed is not None:
        # Clients see no difference, so the row's version stays.
        session.execute(
            update(User).where(User.id == user.id).values(password_hash=verdict.rehashed)
        )
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    return start_session(user, peer, settings)


def start_session(user: User, peer: Peer, settings: Settings) -> OpenedSession:
    """Open a session for an authenticated user and record the login."""
    opened = sessions.open_session(user, peer.user_agent, settings.session_absolute_days)
    record(human_actor(user), "auth.login.success", Target("user", user.id), username=user.username)
    return opened


def _record_failure(name: str, verdict: _Verdict) -> None:
    known = verdict.user_id is not None
    record_separately(
        Actor(ActorKind.HUMAN, user_id=verdict.user_id, username=name) if known else ANONYMOUS,
        "auth.login.failure",
        Target("user", verdict.user_id),
        username=names.as_logged(name),
        reason=verdict.failure or "wrong_password",
    )


@operation(Access.HUMAN)
def log_out(actor: Actor) -> None:
    credentials.lock_exclusive(actor.id)
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    sessions.record_logout(actor)
