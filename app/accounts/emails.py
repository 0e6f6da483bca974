"""Email addresses of people: their form, and that no two share one."""

import re

from sqlalchemy import select

from app.accounts import messages
from app.accounts.models import User
from app.audit.service import Target, record
from app.core import text
from app.core.actor import Actor
from app.core.clock import now_ms
from app.core.errors import Conflict, InvalidField
from app.database.session import session
from app.database.versions import touch

LENGTH = 254
LOCAL_LENGTH = 64
COLUMNS = ("email", "email_confirmed_at")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# Mail servers accept these without extensions: ASCII, an unquoted local part, a host name.
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_PATTERN = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@{_LABEL}(?:\.{_LABEL})*")


def new_email(value: str) -> str:
    """The address as it is stored and compared, in lower case; raises InvalidField."""
    address = text.checked(value, "email", LENGTH).strip().lower()
    # ``isascii`` tests the raw value: lowering turns a Kelvin sign into an ASCII k.
    found = _PATTERN.fullmatch(address) if value.isascii() else None
    if found is None or len(found[1]) > LOCAL_LENGTH:
        raise InvalidField("email", "pattern", messages.EMAIL_INVALID)
    return address


def check_free(email: str | None) -> None:
    """Raise Conflict ``duplicate_key`` if another user, active or not, has the address."""
    if email is not None and session.scalar(select(User.id).where(User.email == email)):
        raise Conflict("duplicate_key", messages.EMAIL_IN_USE, field="email")


def proven(user: User) -> str | None:
    """The person's address, if it is confirmed."""
    return user.email if user.email_confirmed_at is not None else None


def confirm(actor: Actor, user: User) -> None:
    """Mark the person's address as confirmed; does nothing if it already is."""
    if user.email is None or user.email_confirmed_at is not None:
        return
    user.email_confirmed_at = now_ms()
    touch(user)
    session.flush()
    record(actor, "user.updated", Target("user", user.id), email_confirmed=True)
