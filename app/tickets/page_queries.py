"""The queries of the ticket page, in a fixed number of statements."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    SQLColumnExpression,
    String,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    exists,
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
from app.database.columns import Id, Moment, shared_alias
from app.database.session import AnySelect, Prepared, session
from app.files.listing import ListedFile
from app.files.models import FileContent, StoredFile
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets import read
from app.tickets.models import (
    Comment,
    ExternalLink,
    Ticket,
    TicketMute,
    TicketRelation,
    TicketWatcher,
)
from app.tickets.read import state_summary
from app.tickets.stream_queries import actor_of
from app.tickets.watchers import watcher_json
from app.web.wiki_addresses import address_of

# -- backlinks: tables of the wiki and of sticky notes, packages that are higher in the stack -----

SOURCES_SHOWN = 20
FIRST_WORDS = 200
PAGE, NOTE = "page", "note"
FILES_SHOWN = 100
IMAGE = "image"
_Column = SQLColumnExpression[Any]
_NONE: _Column = literal("")
_ZERO: _Column = literal(0, BigInteger)
_MAX_FILES: ColumnElement[int] = literal_column(str(FILES_SHOWN))
_MAX_SOURCES: ColumnElement[int] = literal_column(str(SOURCES_SHOWN))

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
    kind: str
    title: str
    address: str
    # The key of its project, if it has one.
    key: str | None


def _row(
    kind: str,
    row_id: _Column,
    *,
    name: _Column = _NONE,
    detail: _Column = _NONE,
    position: _Column = _NONE,
    number: _Column = _ZERO,
    type: _Column = _NONE,
) -> tuple[_Column, ...]:
    """The columns of a part of ``_related``; each kind of row has only some of them."""
    return (
        literal(kind).label("kind"),
        row_id.label("id"),
        name.label("name"),
        # A color, a username, a URL or a slug.
        detail.label("detail"),
        # The sort key of rows of the kind, or the key of their project.
        position.label("position"),
        # A time in milliseconds, or a size.
        number.label("number"),
        type.label("type"),
    )


def _backlinks() -> list[AnySelect]:
    """The pages and notes that link to a ticket and that a person sees.

    They are rows of ``_related``, and take ``display_id``, ``ticket_id``, ``project_id`` and
    ``user_id``.
    """
    live = and_(Project.id == _pages.c.project_id, Project.deleted_at.is_(None))
    key = func.coalesce(Project.key, "")
    pages = (
        select(*_row(PAGE, _pages.c.id, name=_pages.c.title, detail=_pages.c.slug, position=key))
        .select_from(_links)
        .join(_pages, _pages.c.id == _links.c.page_id)
        .outerjoin(Project, live)
        .where(
            _links.c.display_id == bindparam("display_id"),
            _pages.c.deleted_at.is_(None),
            or_(_pages.c.project_id.is_(None), Project.id.is_not(None)),
        )
        .order_by(_pages.c.title, _pages.c.id)
        .limit(_MAX_SOURCES)
    )
    # A note belongs to the project of its ticket; only its owner sees a personal one.
    first_words = func.substr(_notes.c.body, 1, FIRST_WORDS)
    own = and_(_notes.c.project_id.is_(None), _notes.c.created_by_user_id == bindparam("user_id"))
    notes = (
        select(*_row(NOTE, _notes.c.id, name=first_words, position=key))
        .outerjoin(Project, Project.id == _notes.c.project_id)
        .where(
            _notes.c.converted_to_ticket_id == bindparam("ticket_id", type_=Id()),
            or_(_notes.c.project_id == bindparam("project_id", type_=Id()), own),
        )
        .limit(_MAX_SOURCES)
    )
    return [select(pages.subquery()), select(notes.subquery())]


def _sources(rows: Iterable[Any]) -> list[Backlink]:
    """The backlinks in rows of ``_related``: notes first, then pages by title."""
    found = []
    for row in rows:
        key = row.position or None
        if row.kind == PAGE:
            found.append(Backlink(PAGE, row.name, address_of(key, row.detail, row.id), key))
        else:
            prefix = f"/projects/{key}" if key else ""
            found.append(Backlink(NOTE, row.name, f"{prefix}/sticky-notes#note-{row.id}", key))
    found.sort(key=lambda link: (link.kind, link.title.casefold(), link.address))
    return found[:SOURCES_SHOWN]


# -- the ticket and its related rows -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownLink:
    id: str
    url: str
    title: str
    kind: str
    state: str
    checks: str


@dataclass(frozen=True, slots=True)
class TicketPageData:
    """A ticket with its project, all labels of the project by name, watchers, links, backlinks.

    Whether the ticket is muted applies to the reader only. Most tickets have no children or
    relations, so flags tell whether to read them; a relation may be to a ticket that is not shown.
    """

    ticket: dict[str, Any]
    project: dict[str, str]
    labels: list[dict[str, str]]
    watchers: list[dict[str, Any]]
    # Oldest first.
    links: list[ShownLink]
    sources: list[Backlink]
    is_muted: bool
    files: list[ListedFile]
    has_children: bool
    has_relations: bool
    has_comments: bool


_POSITION = attrgetter("position", "id")
_below = shared_alias(Ticket, "below")
_SUBJECT = Prepared(
    read.WITH_PROJECT.add_columns(
        Project.key,
        Project.name,
        exists()
        .where(_below.parent_ticket_id == Ticket.id, _below.deleted_at.is_(None))
        .label("has_children"),
        or_(
            exists().where(TicketRelation.source_ticket_id == Ticket.id),
            exists().where(TicketRelation.target_ticket_id == Ticket.id),
        ).label("has_relations"),
        exists().where(Comment.ticket_id == Ticket.id).label("has_comments"),
    ).where(Ticket.display_id == bindparam("reference"))
)


@operation(Access.READ)
def subject(actor: Actor, reference: str) -> TicketPageData:
    """The page data of the ticket with a display id; raises NotFound or Gone."""
    row = read.checked(actor, _SUBJECT.first(reference=reference), reference)
    related: defaultdict[str, list[Any]] = defaultdict(list)
    for one in _RELATED.all(
        project_id=row.project_id, ticket_id=row.id, display_id=row.display_id, user_id=actor.id
    ):
        related[one.kind].append(one)
    return TicketPageData(
        ticket=read.ticket_json(row),
        project={"id": row.project_id, "key": row.key, "name": row.name},
        labels=[
            {"id": label.id, "name": label.name, "color": label.detail}
            for label in sorted(related["label"], key=_POSITION)
        ],
        watchers=[
            watcher_json(user_summary(user.id, user.type, user.detail, user.name), user.number)
            for user in sorted(related["watcher"], key=_POSITION)
        ],
        links=[
            ShownLink(link.id, link.detail, link.name, *link.type.split(" "))
            for link in sorted(related["link"], key=attrgetter("number", "id"))
        ],
        sources=_sources(related[PAGE] + related[NOTE]),
        is_muted=bool(related["mute"]),
        files=[
            ListedFile(file.id, file.name, file.number, file.type == IMAGE)
            for file in related["file"]
        ],
        has_children=row.has_children,
        has_relations=row.has_relations,
        has_comments=row.has_comments,
    )


def _related() -> Prepared:
    """The project's labels, the ticket's watchers, links and backlinks, and the reader's mute."""
    ticket_id = bindparam("ticket_id", type_=Id())
    labels = select(
        *_row("label", Label.id, name=Label.name, detail=Label.color, position=Label.name_key)
    ).where(Label.project_id == bindparam("project_id"))
    watchers = (
        select(
            *_row(
                "watcher",
                User.id,
                name=User.display_name,
                detail=User.username,
                position=cast(TicketWatcher.created_at, String),
                number=TicketWatcher.created_at,
                type=User.type,
            )
        )
        .join(TicketWatcher, TicketWatcher.user_id == User.id)
        .where(TicketWatcher.ticket_id == ticket_id)
    )
    # Its kind, state and checks, which contain no spaces.
    state = func.coalesce(ExternalLink.state, "")
    checks = func.coalesce(ExternalLink.checks, "")
    status = ExternalLink.kind.concat(" ").concat(state).concat(" ").concat(checks)
    links = select(
        *_row(
            "link",
            ExternalLink.id,
            name=ExternalLink.title,
            detail=ExternalLink.url,
            number=ExternalLink.created_at,
            type=status,
        )
    ).where(ExternalLink.ticket_id == ticket_id)
    mute = select(*_row("mute", TicketMute.user_id)).where(
        TicketMute.ticket_id == ticket_id, TicketMute.user_id == bindparam("user_id", type_=Id())
    )
    kind = case((StoredFile.thumbnail_sha256.is_not(None), literal(IMAGE)), else_=_NONE)
    files = (
        select(
            *_row("file", StoredFile.id, name=StoredFile.name, number=FileContent.size, type=kind)
        )
        .join(FileContent, FileContent.sha256 == StoredFile.sha256)
        .outerjoin(Comment, Comment.id == StoredFile.comment_id)
        .where(
            StoredFile.ticket_id == ticket_id,
            Comment.deleted_at.is_(None),
        )
        .order_by(StoredFile.created_at.desc(), StoredFile.id.desc())
        .limit(_MAX_FILES)
    )
    # Callers sort the rows: a database takes long to sort a union.
    return Prepared(
        union_all(labels, watchers, links, mute, *_backlinks(), select(files.subquery()))
    )


_RELATED = _related()


def _all_children() -> Prepared:
    its_state = aliased(WorkflowState, name="its_state")
    parts = (
        select(func.count())
        .select_from(_below)
        .where(_below.parent_ticket_id == Ticket.id, _below.deleted_at.is_(None))
        .correlate(Ticket)
    )
    done = parts.join(its_state, its_state.id == _below.state_id).where(
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
    """The live children of a ticket, oldest first, each with the progress of its own children."""
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
    """The data of a deleted ticket for people: when and by whom it was deleted, its children."""
    row = session.execute(
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.deleted_at, Project.key)
        .add_columns(Project.name, Project.id.label("project_id"))
        .join(Project, Project.id == Ticket.project_id)
        .where(Ticket.display_id == reference)
    ).one()
    deletion = session.execute(
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
        "by": actor_of(deletion) if deletion else None,
        "children": children(row.id),
    }
