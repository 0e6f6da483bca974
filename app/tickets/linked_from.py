"""What leads to a ticket: wiki pages that link to it, and the sticky note that it came from.

The little that a ticket's page must know of the wiki and of notes, which stand above in the stack.
"""

from dataclasses import dataclass

from sqlalchemy import Text, and_, cast, column, func, literal, or_, select, table, union_all

from app.core.actor import Actor
from app.core.db import Id, Moment, session
from app.projects.models import Project

# Pages of a project that links itself all over would crowd out the ticket.
SHOWN = 20
FIRST_WORDS = 200

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


def linked_from(actor: Actor, ticket_id: str, display_id: str, project_id: str) -> list[Source]:
    """What a person sees of it, in one statement: notes first, then pages by title."""
    live = and_(Project.id == _pages.c.project_id, Project.deleted_at.is_(None))
    pages = (
        select(
            literal("page").label("kind"),
            _pages.c.slug.label("name"),
            _pages.c.title.label("title"),
            Project.key.label("key"),
        )
        .select_from(_links)
        .join(_pages, _pages.c.id == _links.c.page_id)
        .outerjoin(Project, live)
        .where(
            _links.c.display_id == display_id,
            _pages.c.deleted_at.is_(None),
            or_(_pages.c.project_id.is_(None), Project.id.is_not(None)),
        )
    )
    # A note of a project becomes a ticket of that project; a personal one is its owner's alone.
    own = and_(_notes.c.project_id.is_(None), _notes.c.created_by_user_id == actor.id)
    notes = (
        select(
            literal("note"),
            cast(_notes.c.id, Text),
            func.substr(_notes.c.body, 1, FIRST_WORDS),
            Project.key,
        )
        .outerjoin(Project, Project.id == _notes.c.project_id)
        .where(
            _notes.c.converted_to_ticket_id == ticket_id,
            or_(_notes.c.project_id == project_id, own),
        )
    )
    every = union_all(pages, notes).subquery()
    ordered = select(every).order_by(every.c.kind, every.c.title, every.c.name).limit(SHOWN)
    return [_source(row.kind, row.name, row.title, row.key) for row in session.execute(ordered)]


def _source(kind: str, name: str, title: str, key: str | None) -> Source:
    below = f"/projects/{key}" if key else ""
    place = f"/wiki/{name}" if kind == "page" else f"/sticky-notes#note-{name}"
    return Source(kind, title, below + place, key)
