"""Logging in and out.

A login reserves an attempt in the login windows, verifies the password outside any unit of work,
and opens the session in the transaction that refunds the attempt. All failures look alike and take
equally long; only the audit log tells them apart.

If a second factor is on, that transaction checks the code. A page asks for the code in a separate
step (``LoginStep``). The step is sealed into a cookie, so nothing is stored for it.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import orjson
from cryptography.exceptions import InvalidTag
from sqlalchemy import select, update

from app.accounts import credentials, messages, names, passwords, second_factor, sessions, throttle
from app.accounts.models import User, UserType
from app.accounts.sessions import OpenedSession
from app.audit.service import Target, record, record_separately
from app.config import Settings
from app.core import text
from app.core.actor import ANONYMOUS, Access, Actor, ActorKind, Peer, operation
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Forbidden, InvalidCredentials
from app.database import encryption
from app.database.session import reading, run_write, session

# How often to try to verify a password whose stored hash changes meanwhile.
VERIFICATIONS = 3
# How long the code step of a login is valid.
STEP_MS = 5 * MINUTE_MS
_STEP = "login step"

# How a person proved who they are, for the audit log.
Way = Literal[
    "setup", "password", "password_and_code", "password_and_passkey", "passkey", "password_link"
]

# Why a login was refused after the right password, for ``details``.
CODE_REQUIRED = "totp_required"
CODE_INVALID = "totp_invalid"
STEP_OVER = "login_step_over"


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The verdict on a username and a password, and a new hash where the old one is outdated."""

    user_id: str | None
    failure: str | None
    hash: str | None = None
    rehashed: str | None = None


@dataclass(frozen=True, slots=True)
class LoginStep:
    """A correct password without its second factor yet; ``token`` goes into a cookie."""

    user: User
    token: str

    @property
    def max_age(self) -> int:
        """The lifetime of the cookie, in seconds."""
        return STEP_MS // 1000


def human_actor(user: User) -> Actor:
    return Actor(ActorKind.HUMAN, user_id=user.id, username=user.username)


@operation(Access.PUBLIC)
def log_in(
    actor: Actor,
    *,
    username: str,
    password: str,
    code: str | None = None,
    peer: Peer,
    settings: Settings,
) -> OpenedSession | LoginStep:
    """Exchange a username and password for a new session; the browser's old session ends.

    Returns the step that asks for the code if a second factor is on and no code was sent. Opens its
    own units of work. Raises InvalidCredentials (reason ``totp_invalid`` if only the code is
    wrong), RateLimited, Forbidden ``password_login_off``, or InvalidField for text that cannot be a
    username, password or code.
    """
    if not settings.password_login:
        raise Forbidden("password_login_off")
    text.checked(username, "username", names.USERNAME_LENGTH)
    passwords.check_form(password, "password")
    _check_code(code)
    name = names.looked_up(username)[: names.USERNAME_LENGTH]
    attempt = throttle.reserve(settings.secret_key, peer.address, name)
    for _ in range(VERIFICATIONS):
        verdict = _verify(name, password, attempt, settings)
        if verdict.failure is not None:
            break
        entered = _enter(actor, name, verdict, code or None, attempt, peer, settings)
        if entered is not None:
            return entered
    _record_failure(name, verdict)
    raise InvalidCredentials(messages.LOGIN_INCORRECT)


@operation(Access.PUBLIC)
def finish_login(
    actor: Actor, *, step: str, code: str, peer: Peer, settings: Settings
) -> OpenedSession:
    """Exchange a step and the code of the second factor for a new session.

    Opens its own units of work. Raises InvalidCredentials with the reason ``login_step_over``
    or ``totp_invalid``, RateLimited, InvalidField.
    """
    _check_code(code)
    found = _opened_step(step)
    if found is None:
        raise step_over()
    user, verdict = found
    attempt = throttle.reserve(settings.secret_key, peer.address, user.username)
    entered = _enter(actor, user.username, verdict, code, attempt, peer, settings)
    if not isinstance(entered, OpenedSession):
        raise step_over()
    return entered


def _check_code(code: str | None) -> None:
    text.checked(code or "", "code", second_factor.CODE_LENGTH)


def _refusal(reason: str) -> InvalidCredentials:
    reasons = {
        CODE_REQUIRED: messages.CODE_REQUIRED,
        CODE_INVALID: messages.CODE_INCORRECT,
        STEP_OVER: messages.LOGIN_STEP_OVER,
    }
    return InvalidCredentials(reasons[reason], {"reason": reason})


def code_required() -> InvalidCredentials:
    """The refusal of a login that cannot ask later: the code must come with the password."""
    return _refusal(CODE_REQUIRED)


def step_over() -> InvalidCredentials:
    """The refusal of an expired step."""
    return _refusal(STEP_OVER)


def step_of(user: User) -> LoginStep:
    """A step for a person whose password was just verified or set."""
    content = [user.id, _mark(user.password_hash), now_ms() + STEP_MS]
    return LoginStep(user, encryption.encrypt(orjson.dumps(content), _STEP).hex())


def _mark(password_hash: str | None) -> str:
    """Part of a step that invalidates it once the password changes."""
    return credentials.hashed(password_hash or "")[:16]


def _opened_step(token: str) -> tuple[User, _Verdict] | None:
    """The person of a step and the verdict on their password; None if the step is over."""
    try:
        content = orjson.loads(encryption.decrypt(bytes.fromhex(token), _STEP))
    except (ValueError, InvalidTag):
        return None
    user_id, mark, ends_at = content
    with reading():
        user = session.get(User, user_id)
    if user is None or now_ms() >= ends_at or _mark(user.password_hash) != mark:
        return None
    return user, _Verdict(user.id, None, user.password_hash)


def person_of_step(token: str) -> User | None:
    """The person of a step; None if the step is over."""
    found = _opened_step(token)
    return found[0] if found is not None else None


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
    with throttle.refund_if_unavailable(attempt):
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


def _enter(
    actor: Actor,
    name: str,
    verdict: _Verdict,
    code: str | None,
    attempt: throttle.LoginAttempt,
    peer: Peer,
    settings: Settings,
) -> OpenedSession | LoginStep | None:
    """Open the session in a transaction; a wrong code is recorded as a failed login."""
    try:
        return run_write(partial(_open, actor, verdict, code, attempt, peer, settings))
    except InvalidCredentials:
        _record_failure(name, replace(verdict, failure="wrong_code"))
        raise


def _open(
    actor: Actor,
    verdict: _Verdict,
    code: str | None,
    attempt: throttle.LoginAttempt,
    peer: Peer,
    settings: Settings,
) -> OpenedSession | LoginStep | None:
    """Open the session, or the step for its code; None if the user changed after the verdict."""
    user = session.scalar(
        select(User).where(User.id == verdict.user_id).with_for_update(key_share=True)
    )
    if user is None or not user.is_active or user.password_hash != verdict.hash:
        return None
    has_second_factor = second_factor.is_enabled(user.id)
    if has_second_factor and code is not None and not second_factor.accepts(user, code):
        raise _refusal(CODE_INVALID)
    throttle.refund(attempt)
    if verdict.rehashed is not None:
        # Clients see no difference, so the row's version stays.
        session.execute(
            update(User).where(User.id == user.id).values(password_hash=verdict.rehashed)
        )
    if has_second_factor and code is None:
        record(
            human_actor(user), "auth.totp.asked", Target("user", user.id), username=user.username
        )
        return step_of(user)
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    way: Way = "password_and_code" if has_second_factor else "password"
    return start_session(user, peer, settings, way)


def start_session(
    user: User, peer: Peer, settings: Settings, way: Way, *, passkey_id: str | None = None
) -> OpenedSession:
    """Open a session for an authenticated user and record the login."""
    opened = sessions.open_session(
        user, peer.user_agent, settings.session_absolute_days, passkey_id=passkey_id
    )
    target = Target("user", user.id)
    record(human_actor(user), "auth.login.success", target, username=user.username, way=way)
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
