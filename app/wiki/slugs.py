"""Slugs: what is one, and making one from a title."""

import re
import unicodedata

from sqlalchemy import select

from app.core import text
from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.session import session
from app.wiki.models import WikiPage

PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LENGTH = 128
# Room for "-" and a number behind a slug that is taken.
_ROOM = 8


def is_slug(value: str) -> bool:
    """Whether this has the form of a slug; a UUID has not, so that paths are never ambiguous."""
    return (
        len(value) <= LENGTH
        and PATTERN.fullmatch(value) is not None
        and not UUID_PATTERN.fullmatch(value)
    )


def checked(value: str) -> str:
    """A slug given by a client; raises InvalidField."""
    text.checked(value, "slug", LENGTH)
    if not is_slug(value):
        raise InvalidField("slug", "pattern", "slug is words of a-z and 0-9 joined by hyphens.")
    return value


def from_title(title: str, project_id: str | None) -> str:
    """A free slug made of the title: with ``-2``, ``-3``... where it is taken."""
    base = from_words(title)
    taken = set(
        session.scalars(
            select(WikiPage.slug).where(
                WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None),
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
    """The slug that words make, free or not: ``Set up!`` makes ``set-up``."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[: LENGTH - _ROOM].strip("-")
    if not base:
        return "page"
    return f"page-{base}" if UUID_PATTERN.fullmatch(base) else base
