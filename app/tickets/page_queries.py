"""What the ticket page reads, in a fixed number of statements.

The API's lists come one by one; a page shows them all at once, so it joins what it can.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    String,
    Text,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
    union_all,
)
from sqlalchemy.orm import aliased

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.database.columns import Id, Moment
from app.database.session import AnySelect, Prepared, session
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets import read
from app.tickets.models import Ticket, TicketWatcher
from app.tickets.read import state_summary
from app.tickets.stream_queries import actor_of
from app.tickets.watchers import watcher_json
from app.web.wiki_addresses import address_of

# -- what leads to a ticket: the little that its page knows of the wiki and of notes, which stand
# above in the stack -----------------------------------------------------------------------------

# Pages of a project that links itself all over would crowd out the ticket.
SOURCES_SHOWN = 20
FIRST_WORDS = 200
PAGE, NOTE = "page", "note"
_MOST_SHOWN: ColumnElement[int] = literal_column(str(SOURCES_SHOWN))

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
class Backlink:
    """A page or a note, and where it is."""

    kind: str
    title: str
    address: str
    # The project that it belongs to, or nothing.
    key: str | None


def _leading_here() -> list[AnySelect]:
    """What leads to a ticket and a person sees, in the columns of ``_around``.

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
        .limit(_MOST_SHOWN)
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
        .limit(_MOST_SHOWN)
    )
    return [select(pages.subquery()), select(notes.subquery())]


def _sources(rows: Iterable[Any]) -> list[Backlink]:
    """What leads to the ticket, of rows of ``_around``: notes first, then pages by title."""
    found = [
        _source(row.kind, row.id, row.name, row.second, row.place)
        for row in rows
        if row.kind in (PAGE, NOTE)
    ]
    return sorted(found, key=lambda one: (one.kind, one.title.casefold(), one.address))[
        :SOURCES_SHOWN
    ]


def _source(kind: str, identifier: str, title: str, slug: str, key: str) -> Backlink:
    if kind == PAGE:
        return Backlink(kind, title, address_of(key or None, slug, identifier), key or None)
    below = f"/projects/{key}" if key else ""
    return Backlink(kind, title, f"{below}/sticky-notes#note-{identifier}", key or None)


# -- the ticket and what stands around it --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TicketPageData:
    """A ticket with its project, all labels of the project by name, and what stands around it."""

    ticket: dict[str, Any]
    project: dict[str, str]
    labels: list[dict[str, str]]
    watchers: list[dict[str, Any]]
    # What leads to it from elsewhere, for people.
    sources: list[Backlink]


_SUBJECT = Prepared(
    read.TICKETS.add_columns(Project.key, Project.name, Project.deleted_at.label("gone_at"))
    .join(Project, Project.id == Ticket.project_id)
    .where(Ticket.display_id == bindparam("reference"))
)


@operation(Access.READ)
def subject(actor: Actor, reference: str) -> TicketPageData:
    """The ticket of a display id; raises NotFound or Gone."""
    row = _SUBJECT.first(reference=reference)
    if row is None or not actor.sees_project(row.project_id):
        raise NotFound("ticket", reference)
    if row.gone_at is not None:
        raise Gone("project", row.project_id)
    if row.deleted_at is not None:
        raise Gone("ticket", reference)
    around = _AROUND.all(
        project_id=row.project_id,
        ticket_id=row.id,
        display_id=row.display_id,
        user_id=actor.id,
    )
    labels, watchers = _labels_and_watchers(around)
    ticket = read.ticket_json(row)
    project = {"id": row.project_id, "key": row.key, "name": row.name}
    return TicketPageData(ticket, project, labels, watchers, _sources(around))


Rows = list[dict[str, Any]]


def _around() -> Prepared:
    """The project's labels, the ticket's watchers, and what leads to it."""
    labels = select(
        literal("label").label("kind"),
        Label.id,
        Label.name,
        Label.color.label("second"),
        Label.name_key.label("place"),
        literal(0, BigInteger).label("created_at"),
        literal("").label("type"),
    ).where(Label.project_id == bindparam("project_id"))
    watchers = (
        select(
            literal("watcher"),
            User.id,
            User.display_name,
            User.username,
            cast(TicketWatcher.created_at, String),
            TicketWatcher.created_at,
            User.type,
        )
        .join(TicketWatcher, TicketWatcher.user_id == User.id)
        .where(TicketWatcher.ticket_id == bindparam("ticket_id"))
    )
    every = union_all(labels, watchers, *_leading_here())
    columns = every.selected_columns
    return Prepared(every.order_by(columns.kind, columns.place, columns.id))


_AROUND = _around()


def _labels_and_watchers(rows: Iterable[Any]) -> tuple[Rows, Rows]:
    """The project's labels, and who watches the ticket."""
    of_project: Rows = []
    watching: Rows = []
    for row in rows:
        if row.kind == "watcher":
            user = user_summary(row.id, row.type, row.second, row.name)
            watching.append(watcher_json(user, row.created_at))
        elif row.kind == "label":
            of_project.append({"id": row.id, "name": row.name, "color": row.second})
    return of_project, watching


def _all_children() -> Prepared:
    below = aliased(Ticket, name="below")
    its_state = aliased(WorkflowState, name="its_state")
    parts = (
        select(func.count())
        .select_from(below)
        .where(below.parent_ticket_id == Ticket.id, below.deleted_at.is_(None))
        .correlate(Ticket)
    )
    done = parts.join(its_state, its_state.id == below.state_id).where(
        its_state.category == StateCategory.DONE.value
    )
    return Prepared(
        select(
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.type.label("kind"),
            Ticket.due_date,
            WorkflowState.id.label("state_id"),
            WorkflowState.name,
            WorkflowState.category,
            parts.scalar_subquery().label("parts"),
            done.scalar_subquery().label("parts_done"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
        .outerjoin(User, User.id == Ticket.assignee_user_id)
        .where(Ticket.parent_ticket_id == bindparam("ticket_id"), Ticket.deleted_at.is_(None))
        .order_by(Ticket.created_at, Ticket.id)
    )


_CHILDREN = _all_children()


def children(ticket_id: str) -> list[dict[str, Any]]:
    """The live tickets below this one, oldest first, with how much lies below each."""
    return [
        {
            "id": row.id,
            "display_id": row.display_id,
            "title": row.title,
            "state": state_summary(row.state_id, row.name, row.category),
            "assignee": actor_of(row),
            "type": row.kind,
            "due_date": row.due_date,
            "parts": row.parts,
            "parts_done": row.parts_done,
        }
        for row in _CHILDREN.all(ticket_id=ticket_id)
    ]


@operation(Access.HUMAN)
def deleted(actor: Actor, reference: str) -> dict[str, Any]:
    """What people see of a deleted ticket: who deleted it and when, and what lies below it."""
    row = session.execute(
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.deleted_at, Project.key)
        .add_columns(Project.name, Project.id.label("project_id"))
        .join(Project, Project.id == Ticket.project_id)
        .where(Ticket.display_id == reference)
    ).one()
    last = session.execute(
        select(User.id.label("user_id"), User.type, User.username, User.display_name)
        .select_from(AuditEvent)
        .outerjoin(User, User.id == AuditEvent.actor_user_id)
        .where(AuditEvent.ticket_id == row.id, AuditEvent.event_type == "ticket.deleted")
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
    ).first()
    return {
        "ticket": {"display_id": row.display_id, "title": row.title, "deleted_at": row.deleted_at},
        "project": {"id": row.project_id, "key": row.key, "name": row.name},
        "by": actor_of(last) if last else None,
        "children": children(row.id),
    }
