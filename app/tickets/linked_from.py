"""What leads to a ticket: wiki pages that link to it, and the sticky note that it came from.

The little that a ticket's page must know of the wiki and of notes, which stand above in the stack.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    and_,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
)

from app.core.columns import Id, Moment
from app.core.db import AnySelect
from app.projects.models import Project
from app.web.wiki_addresses import address_of

# Pages of a project that links itself all over would crowd out the ticket.
SHOWN = 20
FIRST_WORDS = 200
PAGE, NOTE = "page", "note"
_MOST: ColumnElement[int] = literal_column(str(SHOWN))

_pages = table(
    "wiki_pages",
    column("id", Id),
    column("project_id", Id),
    column("slug", Text),
    column("title", Text),
    column("deleted_at", Moment),
)
_links = table("wiki_ticket_links", column("page_id", Id), column("display_id", Text))
_notes = table(
    "sticky_notes",
    column("id", Id),
    column("project_id", Id),
    column("created_by_user_id", Id),
    column("converted_to_ticket_id", Id),
    column("body", Text),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A page or a note, and where it is."""

    kind: str
    title: str
    address: str
    # The project that it belongs to, or nothing.
    key: str | None


def queries() -> list[AnySelect]:
    """What a person sees of it, in the columns of ``page_queries``.

    They take ``display_id``, ``ticket_id``, ``project_id`` and ``user_id``.
    """
    live = and_(Project.id == _pages.c.project_id, Project.deleted_at.is_(None))
    nothing = (literal(0, BigInteger), literal(""))
    pages = (
        select(
            literal(PAGE),
            _pages.c.id,
            _pages.c.title,
            _pages.c.slug,
            func.coalesce(Project.key, ""),
            *nothing,
        )
        .select_from(_links)
        .join(_pages, _pages.c.id == _links.c.page_id)
        .outerjoin(Project, live)
        .where(
            _links.c.display_id == bindparam("display_id"),
            _pages.c.deleted_at.is_(None),
            or_(_pages.c.project_id.is_(None), Project.id.is_not(None)),
        )
        .order_by(_pages.c.title, _pages.c.id)
        .limit(_MOST)
    )
    # A note of a project becomes a ticket of that project; a personal one is its owner's alone.
    own = and_(_notes.c.project_id.is_(None), _notes.c.created_by_user_id == bindparam("user_id"))
    notes = (
        select(
            literal(NOTE),
            _notes.c.id,
            func.substr(_notes.c.body, 1, FIRST_WORDS),
            literal(""),
            func.coalesce(Project.key, ""),
            *nothing,
        )
        .outerjoin(Project, Project.id == _notes.c.project_id)
        .where(
            _notes.c.converted_to_ticket_id == bindparam("ticket_id", type_=Id()),
            or_(_notes.c.project_id == bindparam("project_id", type_=Id()), own),
        )
        .limit(_MOST)
    )
    return [select(pages.subquery()), select(notes.subquery())]


def sources(rows: Iterable[Any]) -> list[Source]:
    """Of the rows of ``page_queries``: notes first, then pages by title."""
    found = [
        _source(row.kind, row.id, row.name, row.second, row.place)
        for row in rows
        if row.kind in (PAGE, NOTE)
    ]
    return sorted(found, key=lambda one: (one.kind, one.title.casefold(), one.address))[:SHOWN]


def _source(kind: str, identifier: str, title: str, slug: str, key: str) -> Source:
    if kind == PAGE:
        return Source(kind, title, address_of(key or None, slug, identifier), key or None)
    below = f"/projects/{key}" if key else ""
    return Source(kind, title, f"{below}/sticky-notes#note-{identifier}", key or None)
