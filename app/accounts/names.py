"""Usernames and display names: their rules, and the form in which usernames are looked up."""

import re
import unicodedata

from sqlalchemy import select

from app.accounts.models import User
from app.core import text
from app.core.errors import Conflict, InvalidField
from app.core.redaction import REDACTED
from app.database.session import session

USERNAME_LENGTH = 64
USERNAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{1,63}")
# Words that stand for somebody else where a user is named.
RESERVED = frozenset({"me", "none", "next", "unassigned"})
USERNAME_HINT = (
    "username is 2 to 64 of a-z, 0-9, dot, hyphen and underscore, a letter or digit first."
)


def new_username(value: str) -> str:
    """A username as it may be created (bots and humans alike); raises InvalidField."""
    text.checked(value, "username", USERNAME_LENGTH)
    found = text.matching(value, "username", USERNAME_PATTERN, USERNAME_HINT)
    if found in RESERVED:
        raise InvalidField("username", "reserved", f"{found} is a reserved word.")
    return found


def as_logged(name: str) -> str:
    """What may be written down of a typed username: people type their password there, too."""
    return name if USERNAME_PATTERN.fullmatch(name) else REDACTED


def looked_up(value: str) -> str:
    """A typed username as it is looked up and counted: NFKC, casefolded, trimmed.

    The login windows count under exactly this form, so no spelling of a name escapes them.
    """
    return unicodedata.normalize("NFKC", value).casefold().strip()


def taken(username: str) -> Conflict:
    """The refusal of a username that is, or ever was, in use."""
    return Conflict("duplicate_key", f"The username {username} is in use.", field="username")


def check_free(username: str) -> None:
    """Raise Conflict ``duplicate_key`` where a user of either kind has this username."""
    if session.scalar(select(User.id).where(User.username == username)) is not None:
        raise taken(username)
