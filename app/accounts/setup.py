"""First-run setup: exactly one first admin, however many try at once, over REST and by command.

A human who exists, active or not, ends it for good.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass

from sqlalchemy import exists, select

from app.accounts import login, names, passwords
from app.accounts.models import User, UserType
from app.accounts.sessions import OpenedSession, Peer
from app.accounts.users import add_human
from app.config import Settings
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, Forbidden
from app.database.locks import Lock, acquire
from app.database.session import reading, run_write, session


@dataclass(frozen=True, slots=True)
class NewHuman:
    """A human to be made: checked, and with the password hashed."""

    username: str
    display_name: str
    password_hash: str


def needs_setup() -> bool:
    """Whether no human exists; bots do not count."""
    return not session.scalar(select(exists().where(User.type == UserType.HUMAN)))


@operation(Access.PUBLIC)
def setup_status(actor: Actor) -> bool:
    """Whether the first admin is still to be made."""
    return needs_setup()


@operation(Access.PUBLIC)
def set_up_admin(
    actor: Actor,
    *,
    username: str,
    password: str,
    display_name: str | None = None,
    setup_code: str | None = None,
    peer: Peer,
    settings: Settings,
) -> OpenedSession:
    """Make the first admin and log them in; opens its own units of work.

    Whoever is not on this machine must know the setup code. Raises Conflict ``invariant_violation``
    once a human exists, Forbidden ``setup_code_required``, PasswordTooShort, PasswordTooCommon,
    InvalidField.
    """
    with reading():
        check_open()
    if not peer.is_local and not _is_code(setup_code or "", settings):
        raise Forbidden("setup_code_required")
    prepared = _prepare(username, password, display_name, settings)

    def work() -> OpenedSession:
        user = _first_human(prepared, None)
        return login.start_session(user, peer, settings)

    return run_write(work)


def code(settings: Settings) -> str:
    """The setup code, the same in every process and after each start: 80 bits, in four groups."""
    made = hmac.new(settings.secret_key.encode(), b"setup code", hashlib.sha256).digest()
    text_of_it = base64.b32encode(made[:10]).decode().lower()
    return "-".join(text_of_it[start : start + 4] for start in range(0, 16, 4))


def _is_code(given: str, settings: Settings) -> bool:
    """Whether this is the setup code, however it is spaced."""
    kept = "".join(character for character in given.lower() if character.isalnum())
    return hmac.compare_digest(kept.encode(), code(settings).replace("-", "").encode())


def create_admin(
    actor: Actor, *, username: str, password: str, display_name: str | None, settings: Settings
) -> User:
    """The same by command: the same rule, no session, attributed to the one who runs it."""
    prepared = _prepare(username, password, display_name, settings)
    return run_write(lambda: _first_human(prepared, actor))


def _prepare(
    username: str, password: str, display_name: str | None, settings: Settings
) -> NewHuman:
    """Everything that needs no lock; a setup that is over is refused before any hashing."""
    with reading():
        check_open()
    username = names.new_username(username)
    shown = text.line(display_name, "display_name") if display_name is not None else username
    passwords.check_new(password, username, settings.app_name)
    return NewHuman(username, shown, passwords.hash_new(password, passwords.cost_of(settings)))


def check_open() -> None:
    """Raise Conflict ``invariant_violation`` once a human exists."""
    if not needs_setup():
        raise Conflict("invariant_violation", "Setup is over; log in.")


def _first_human(prepared: NewHuman, actor: Actor | None) -> User:
    """Count the humans and add the first under one lock."""
    acquire(Lock.FIRST_SETUP)
    check_open()
    return add_human(actor, prepared.username, prepared.display_name, prepared.password_hash)
