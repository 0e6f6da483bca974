"""The form of slugs, and making one from a title."""

import re
import unicodedata

from sqlalchemy import select

from app.core import text
from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.session import session
from app.wiki import messages
from app.wiki.models import WikiPage, in_scope

PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LENGTH = 128
# Room for "-" and a number after a slug that is taken.
_ROOM = 8


def is_slug(value: str) -> bool:
    """Whether this has the form of a slug. A UUID does not, so paths are never ambiguous."""
    return (
        len(value) <= LENGTH
        and PATTERN.fullmatch(value) is not None
        and not UUID_PATTERN.fullmatch(value)
    )


def checked(value: str) -> str:
    """The slug that a client sent; raises InvalidField."""
    text.checked(value, "slug", LENGTH)
    if not is_slug(value):
        raise InvalidField("slug", "pattern", messages.SLUG_INVALID)
    return value


def from_title(title: str, project_id: str | None) -> str:
    """A free slug made of the title, with ``-2``, ``-3``... if it is taken."""
    base = from_words(title)
    taken = set(
        session.scalars(
            select(WikiPage.slug).where(
                in_scope(project_id),
                WikiPage.deleted_at.is_(None),
                (WikiPage.slug == base) | WikiPage.slug.startswith(f"{base}-", autoescape=True),
            )
        )
    )
    if base not in taken:
        return base
    number = 2
    while f"{base}-{number}" in taken:
        number += 1
    return f"{base}-{number}"


def from_words(title: str) -> str:
    """The slug of these words, free or not: ``Set up!`` becomes ``set-up``."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[: LENGTH - _ROOM].strip("-")
    if not base:
        return "page"
    return f"page-{base}" if UUID_PATTERN.fullmatch(base) else base
