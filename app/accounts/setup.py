"""First-run setup: exactly one first admin, over REST or by command, even if requests race.

Setup ends for good once a human exists, active or not.
"""

import base64
import hashlib
import hmac

from sqlalchemy import exists, select

from app.accounts import login, messages
from app.accounts.models import User, UserType
from app.accounts.sessions import OpenedSession
from app.accounts.users import NewHuman, add_human, prepare_human
from app.config import Settings
from app.core.actor import Access, Actor, Peer, operation
from app.core.errors import Conflict, Forbidden
from app.database.locks import Lock, acquire
from app.database.session import reading, run_write, session


@operation(Access.PUBLIC)
def setup_status(actor: Actor) -> bool:
    return _needs_setup()


def _needs_setup() -> bool:
    return not session.scalar(select(exists().where(User.type == UserType.HUMAN)))


def check_open() -> None:
    """Raise Conflict ``invariant_violation`` once a human exists."""
    if not _needs_setup():
        raise Conflict("invariant_violation", messages.SETUP_IS_COMPLETE)


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
    """Create the first admin and log them in; opens its own units of work.

    A peer that is not local must send the setup code. Raises Conflict ``invariant_violation`` once
    a human exists, Forbidden ``setup_code_required``, PasswordTooShort, PasswordTooCommon,
    InvalidField.
    """
    with reading():
        check_open()
    if not peer.is_local and not _is_code(setup_code or "", settings):
        raise Forbidden("setup_code_required")
    new = prepare_human(username, password, display_name, settings)

    def work() -> OpenedSession:
        return login.start_session(_first_human(None, new), peer, settings, "setup")

    return run_write(work)


def create_admin(
    actor: Actor, *, username: str, password: str, display_name: str | None, settings: Settings
) -> User:
    """Create the first admin by command: without a session, recorded as done by ``actor``."""
    with reading():
        check_open()
    new = prepare_human(username, password, display_name, settings)
    return run_write(lambda: _first_human(actor, new))


def _first_human(actor: Actor | None, new: NewHuman) -> User:
    """Check that there is no human and add the first one, under one lock."""
    acquire(Lock.FIRST_SETUP)
    check_open()
    return add_human(actor, new)


def code(settings: Settings) -> str:
    """The setup code: 80 bits in four groups, derived from SECRET_KEY, so always the same."""
    digest = hmac.new(settings.secret_key.encode(), b"setup code", hashlib.sha256).digest()
    letters = base64.b32encode(digest[:10]).decode().lower()
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def _is_code(sent: str, settings: Settings) -> bool:
    """Whether this is the setup code, with any spacing and case; compares in constant time."""
    letters = "".join(character for character in sent.lower() if character.isalnum())
    return hmac.compare_digest(letters.encode(), code(settings).replace("-", "").encode())
