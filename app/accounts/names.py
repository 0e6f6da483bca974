"""Usernames and display names: their rules, and the form in which usernames are looked up."""

import re
import unicodedata

from sqlalchemy import select

from app.accounts import messages
from app.accounts.models import User
from app.core import text
from app.core.errors import Conflict, InvalidField
from app.core.logs import REDACTED
from app.database.session import session

USERNAME_LENGTH = 64
USERNAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{1,63}")
# Suffixes tried to make a taken name unique.
NAMES_TRIED = 100
# Words with a special meaning where a user is expected.
RESERVED = frozenset({"me", "none", "next", "unassigned"})


def new_username(value: str) -> str:
    """The username of a new human or bot, checked; raises InvalidField."""
    text.checked(value, "username", USERNAME_LENGTH)
    username = text.matching(value, "username", USERNAME_PATTERN, messages.USERNAME_INVALID)
    if username in RESERVED:
        raise InvalidField("username", "reserved", messages.username_reserved(username))
    return username


def new_display_name(value: str | None, username: str) -> str:
    """The display name of a new user, by default the username; raises InvalidField."""
    return text.line(value, "display_name") if value is not None else username


def as_logged(name: str) -> str:
    """A typed username for the audit log, redacted if it may be a mistyped password."""
    return name if USERNAME_PATTERN.fullmatch(name) else REDACTED


def looked_up(value: str) -> str:
    """A typed username as it is looked up and counted: NFKC, casefolded, trimmed.

    The login windows count under exactly this form, so no spelling of a name escapes them.
    """
    return unicodedata.normalize("NFKC", value).casefold().strip()


def is_taken(username: str) -> bool:
    """Whether a user of either kind has this username; deactivated users keep theirs."""
    return session.scalar(select(User.id).where(User.username == username)) is not None


def free_username(base: str) -> str | None:
    """The first free one of ``base``, ``base-2``, ``base-3`` and so on; None if all are taken."""
    numbered = (f"{base}-{number}" for number in range(2, NAMES_TRIED))
    return next((name for name in (base, *numbered) if not is_taken(name)), None)


def in_use(username: str) -> str:
    """The message that refuses a taken username."""
    return messages.username_taken(username)


def check_free(username: str) -> None:
    """Raise Conflict ``duplicate_key`` where the username is taken."""
    if is_taken(username):
        raise Conflict("duplicate_key", in_use(username), field="username")
