"""The second factor of logins with a password: codes of an authenticator app, and recovery codes.

API keys of bots need none. A code works once: the time step of the last one is kept.
"""

import base64
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import delete, func, insert, select

from app.accounts import credentials, messages, sessions, throttle, totp, user_refs
from app.accounts.confirming import confirm_password, confirm_unchanged
from app.accounts.models import RecoveryCode, SecondFactor, User
from app.audit.service import Target, record, record_separately
from app.config import Settings
from app.core import text
from app.core.actor import Access, Actor, ActorKind, Peer, operation
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Conflict, InvalidField
from app.database import encryption
from app.database.encryption import SecretColumn
from app.database.session import reading, run_write, session

# A secret without a first code expires after this.
SET_UP_MS = 10 * MINUTE_MS
RECOVERY_CODES = 10
CODE_LENGTH = 64
# Secrets that are confirmed.
SECRETS = SecretColumn(SecondFactor, "second factor")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FactorStatus:
    """Whether logins of a person ask for a code, and how many recovery codes are left."""

    is_enabled: bool
    recovery_codes_left: int


@dataclass(frozen=True, slots=True)
class NewFactor:
    """A secret for an authenticator app, as text to type and as the address of a QR code."""

    secret: str
    address: str


@operation(Access.HUMAN)
def get_status(actor: Actor) -> FactorStatus:
    return FactorStatus(is_enabled(actor.id), _recovery_codes_left(actor.id))


def is_enabled(user_id: str) -> bool:
    return bool(enabled_among([user_id]))


def enabled_among(user_ids: Iterable[str]) -> set[str]:
    """The ids of these people whose logins ask for a code."""
    statement = select(SecondFactor.user_id).where(
        SecondFactor.user_id.in_(list(user_ids)), SecondFactor.enabled_at.is_not(None)
    )
    return set(session.scalars(statement))


@operation(Access.HUMAN)
def set_up(actor: Actor, *, current_password: str, peer: Peer, settings: Settings) -> NewFactor:
    """Make a secret; logins ask for its codes once a first code confirms it.

    Only the session that made the secret can confirm it, within ten minutes. An unconfirmed secret
    is replaced. Opens its own units of work. Raises RateLimited, CurrentPasswordInvalid,
    InvalidField, Conflict ``invariant_violation`` if two-factor authentication is on.
    """
    stored = confirm_password(actor, current_password, peer, settings)
    secret = totp.new_secret()

    def work() -> None:
        _lock(actor)
        confirm_unchanged(actor, stored)
        if is_enabled(actor.id):
            raise Conflict("invariant_violation", messages.TOTP_IS_ON)
        _remove(actor.id)
        sealed_secret = encryption.encrypt(secret, _set_up_context(actor))
        session.add(
            SecondFactor(
                user_id=actor.id, sealed_secret=sealed_secret, created_at=now_ms(), last_step=0
            )
        )
        session.flush()

    run_write(work)
    return _shown(secret, actor, settings)


def _shown(secret: bytes, actor: Actor, settings: Settings) -> NewFactor:
    address = totp.address(secret, actor.username, settings.app_name)
    return NewFactor(totp.as_text(secret), address)


@operation(Access.HUMAN)
def pending(actor: Actor, *, settings: Settings) -> NewFactor | None:
    """The secret of this session that waits for its first code, if any."""
    secret = _waiting(actor, session.get(SecondFactor, actor.id))
    return None if secret is None else _shown(secret, actor, settings)


def _waiting(actor: Actor, factor: SecondFactor | None) -> bytes | None:
    """The secret that this session made in the last ten minutes, if any."""
    if factor is None or factor.enabled_at is not None:
        return None
    if not 0 <= now_ms() - factor.created_at < SET_UP_MS:
        return None
    return encryption.decrypt_or_none(factor.sealed_secret, _set_up_context(actor))


@operation(Access.HUMAN)
def confirm(actor: Actor, *, code: str) -> list[str]:
    """Turn the factor on with a first code; returns the recovery codes, which are shown only once.

    Raises InvalidField for a wrong code, Conflict ``invariant_violation`` if this session has made
    no secret in the last ten minutes.
    """
    text.checked(code, "code", CODE_LENGTH)
    _lock(actor)
    factor = session.get(SecondFactor, actor.id, populate_existing=True)
    secret = _waiting(actor, factor)
    if factor is None or secret is None:
        raise Conflict("invariant_violation", messages.TOTP_NOT_SET_UP)
    if not _is_code(factor, secret, _plain(code)):
        raise _wrong_code()
    factor.sealed_secret = SECRETS.encrypt(actor.id, secret)
    factor.enabled_at = now_ms()
    session.flush()
    _record(actor, actor.id, "user.totp_enabled")
    return _new_recovery_codes(actor)


@operation(Access.HUMAN)
def disable(
    actor: Actor, *, current_password: str, code: str, peer: Peer, settings: Settings
) -> None:
    """Turn one's own factor off; otherwise like ``make_recovery_codes``."""
    stored = confirm_password(actor, current_password, peer, settings)
    _with_code(actor, stored, code, peer, settings, lambda: _end(actor, actor.id))


@operation(Access.HUMAN)
def make_recovery_codes(
    actor: Actor, *, current_password: str, code: str, peer: Peer, settings: Settings
) -> list[str]:
    """Replace the recovery codes and return the new ones; opens its own units of work.

    Wrong passwords and codes count like failed logins. Raises RateLimited, CurrentPasswordInvalid,
    InvalidField, Conflict ``invariant_violation`` if the factor is off.
    """
    stored = confirm_password(actor, current_password, peer, settings)
    return _with_code(actor, stored, code, peer, settings, lambda: _new_recovery_codes(actor))


def confirm_code(
    actor: Actor, stored: str | None, code: str, peer: Peer, settings: Settings
) -> None:
    """Accept one's own code after the password; does nothing if the factor is off.

    Opens its own units of work. Wrong codes count like failed logins. Raises RateLimited,
    InvalidField, CurrentPasswordInvalid.
    """
    with reading():
        needs_code = is_enabled(actor.id)
    if needs_code:
        _with_code(actor, stored, code, peer, settings, lambda: None)


def _with_code(
    actor: Actor,
    stored: str | None,
    code: str,
    peer: Peer,
    settings: Settings,
    change: Callable[[], T],
) -> T:
    """Make a change in the transaction that accepts its code."""
    text.checked(code, "code", CODE_LENGTH)
    attempt = throttle.reserve(settings.secret_key, peer.address, actor.username)

    def work() -> T:
        _lock(actor)
        user = confirm_unchanged(actor, stored)
        if not is_enabled(user.id):
            raise Conflict("invariant_violation", messages.TOTP_IS_OFF)
        if not accepts(user, code):
            raise _wrong_code()
        throttle.refund(attempt)
        return change()

    try:
        return run_write(work)
    except Conflict:
        run_write(lambda: throttle.refund(attempt))
        raise
    except InvalidField:
        target = Target("user", actor.id)
        record_separately(actor, "auth.totp.failure", target, username=actor.username)
        raise


@operation(Access.HUMAN)
def reset(actor: Actor, /, user_id: str) -> None:
    """Turn the factor off for another person, who lost the app and the recovery codes.

    Raises NotFound (bots too), Conflict ``invariant_violation`` for oneself or if it is off.
    """
    user = user_refs.lock_another_human(actor, user_id, messages.TURN_OFF_TOTP_IN_PROFILE)
    if not is_enabled(user.id):
        raise Conflict("invariant_violation", messages.TOTP_IS_OFF)
    _end(actor, user.id)


def accepts(user: User, code: str) -> bool:
    """Whether this is a valid code of the person; uses it up in the current transaction."""
    factor = session.get(SecondFactor, user.id, with_for_update=True, populate_existing=True)
    if factor is None or factor.enabled_at is None:
        return False
    plain, secret = _plain(code), SECRETS.decrypt(factor)
    is_code = secret is not None and _is_code(factor, secret, plain)
    return is_code or _is_recovery_code(user, plain)


def _plain(code: str) -> str:
    """The code in lower case, without spaces and hyphens."""
    return "".join(letter for letter in code.lower() if letter.isascii() and letter.isalnum())


def _is_code(factor: SecondFactor, secret: bytes, code: str) -> bool:
    step = totp.step_of(secret, code, now_ms(), factor.last_step)
    if step is not None:
        factor.last_step = step
        session.flush()
    return step is not None


def _is_recovery_code(user: User, code: str) -> bool:
    used = session.scalars(
        delete(RecoveryCode)
        .where(RecoveryCode.user_id == user.id, RecoveryCode.code_hash == credentials.hashed(code))
        .returning(RecoveryCode.code_hash)
    ).all()
    if not used:
        return False
    person = Actor(ActorKind.HUMAN, user_id=user.id, username=user.username)
    left = _recovery_codes_left(user.id)
    target = Target("user", user.id)
    record(person, "user.recovery_code_used", target, username=user.username, left=left)
    return True


def _recovery_codes_left(user_id: str) -> int:
    return session.scalar(select(func.count()).where(RecoveryCode.user_id == user_id)) or 0


def _new_recovery_codes(actor: Actor) -> list[str]:
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == actor.id))
    codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
    rows = [
        {"code_hash": credentials.hashed(code.replace("-", "")), "user_id": actor.id}
        for code in codes
    ]
    session.execute(insert(RecoveryCode), rows)
    _record(actor, actor.id, "user.recovery_codes_made")
    return codes


def _recovery_code() -> str:
    """80 random bits in four groups, like the setup code."""
    letters = base64.b32encode(os.urandom(10)).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def _end(actor: Actor, user_id: str) -> None:
    _remove(user_id)
    _record(actor, user_id, "user.totp_disabled")


def _remove(user_id: str) -> None:
    for model in (RecoveryCode, SecondFactor):
        session.execute(delete(model).where(model.user_id == user_id))


def _lock(actor: Actor) -> None:
    credentials.lock_exclusive(actor.id)
    sessions.confirm(actor)


def _record(actor: Actor, user_id: str, event_type: str) -> None:
    username = session.scalar(select(User.username).where(User.id == user_id))
    record(actor, event_type, Target("user", user_id), username=username)


def _wrong_code() -> InvalidField:
    return InvalidField("code", "incorrect", messages.CODE_INCORRECT)


def _set_up_context(actor: Actor) -> str:
    """The context of an unconfirmed secret, which belongs to the session that made it."""
    return f"{SECRETS.context_of(actor.id)}:set up by {actor.session_id}"
