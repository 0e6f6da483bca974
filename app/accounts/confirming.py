"""Asking for the current password before credentials change, as a session alone could be stolen."""

from sqlalchemy import select

from app.accounts import passwords, throttle
from app.accounts.models import User
from app.audit.service import Target, record_separately
from app.config import Settings
from app.core.actor import Actor, Peer
from app.core.errors import CurrentPasswordInvalid
from app.database.session import reading, run_write, session


def has_password(actor: Actor) -> bool:
    return session.scalar(select(User.password_hash).where(User.id == actor.id)) is not None


def confirm_password(
    actor: Actor, current_password: str, peer: Peer, settings: Settings
) -> str | None:
    """Verify the current password and return its hash; wrong ones count like failed logins.

    Opens its own units of work. Raises RateLimited, CurrentPasswordInvalid, InvalidField.
    """
    passwords.check_form(current_password, "current_password")
    with reading():
        stored = session.scalar(select(User.password_hash).where(User.id == actor.id))
    attempt = throttle.reserve(settings.secret_key, peer.address, actor.username)
    with throttle.refund_if_unavailable(attempt):
        is_right = passwords.verify(stored, current_password, passwords.cost_of(settings))
    if not is_right:
        target = Target("user", actor.id)
        record_separately(actor, "auth.password.failure", target, username=actor.username)
        raise CurrentPasswordInvalid
    run_write(lambda: throttle.refund(attempt))
    return stored


def confirm_unchanged(actor: Actor, stored: str | None) -> User:
    """The person, in the current transaction, if the verified password is still theirs."""
    user = session.get_one(User, actor.id, populate_existing=True)
    if user.password_hash != stored:
        # Someone else changed the password while this one was verified.
        raise CurrentPasswordInvalid
    return user
