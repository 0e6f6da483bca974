"""What a bot did since a person last looked, request by request."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, union_all

from app.accounts import personal
from app.accounts.models import User, UserType
from app.audit.catalogue import REVERSIBLE, UNDO_OF, Category
from app.audit.models import AuditEvent, ToolInvocation
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, now_ms
from app.core.errors import InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import session
from app.projects.models import Label, Project
from app.tickets.models import Ticket
from app.wiki.models import WikiPage, WikiRevision

# Without a marker, the review goes back so far.
FIRST_LOOK_DAYS = 7
# Events on one page; what comes after them is the next page, once these look good.
EVENTS_SHOWN = 100
# What is undone of things that lie in a project beside tickets and pages, or are one's own.
OF_PROJECTS = sorted(
    one for one in REVERSIBLE if one.startswith(("label.", "workflow_state.", "sticky_note."))
)
OF_PAGES = sorted(one for one in REVERSIBLE if one.startswith("wiki."))
# What is left is counted up to here.
COUNTED = 1000


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """A wiki page that an event is about."""

    title: str
    slug: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Around:
    """What the events refer to, by id."""

    tickets: dict[str, tuple[str, str]] = field(default_factory=dict)
    pages: dict[str, ReviewPage] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    # The bodies of wiki revisions, by page and number.
    bodies: dict[tuple[str, int], str] = field(default_factory=dict)
    undone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Review:
    """The bot, since when, its events in the order of what happened, and how many there are."""

    bot: dict[str, Any]
    # When the person last said that it looks good; None: never.
    looked_at: int | None
    since: int
    events: Sequence[AuditEvent]
    around: Around
    left: int


def subject_of(bot_id: str) -> str:
    """The subject of the marker."""
    return f"bot:{bot_id}"


def _bot(username: str) -> User:
    found = session.scalar(
        select(User).where(User.username == username.lower(), User.type == UserType.BOT.value)
    )
    if found is None:
        raise NotFound("bot", username)
    return found


def _done_by(bot: User, after: str | None, since: int) -> list[ColumnElement[bool]]:
    """The changes of a bot after an event, or since a time; both are a range of an index."""
    conditions = [
        AuditEvent.actor_user_id == bot.id,
        AuditEvent.category == Category.ACTIVITY.value,
        AuditEvent.created_at >= since,
    ]
    return [*conditions, AuditEvent.id > after] if after else conditions


@operation(Access.HUMAN)
def review(actor: Actor, username: str) -> Review:
    """What the bot did since this person's marker, the oldest first; raises NotFound."""
    bot = _bot(username)
    marker = personal.marker(actor, subject_of(bot.id))
    after = marker.event_id if marker else None
    since = ids.created_ms(after) if after else now_ms() - FIRST_LOOK_DAYS * DAY_MS
    wanted = _done_by(bot, after, since)
    found = session.scalars(
        select(AuditEvent)
        .where(*wanted)
        .order_by(AuditEvent.created_at, AuditEvent.id)
        .limit(EVENTS_SHOWN)
    ).all()
    left = 0
    if len(found) == EVENTS_SHOWN:
        counted = select(AuditEvent.id).where(*wanted).limit(COUNTED + EVENTS_SHOWN).subquery()
        total = session.scalar(select(func.count()).select_from(counted)) or 0
        left = total - len(found)
    return Review(
        bot={
            "id": bot.id,
            "type": bot.type,
            "username": bot.username,
            "display_name": bot.display_name,
        },
        looked_at=marker.updated_at if marker else None,
        since=since,
        events=found,
        around=_around(found) if found else Around(),
        left=left,
    )


@operation(Access.HUMAN)
def mark_reviewed(actor: Actor, username: str, event_id: str) -> None:
    """Move the person's marker to an event of the bot; raises NotFound, InvalidField."""
    bot = _bot(username)
    canonical = as_uuid(event_id)
    event = session.get(AuditEvent, canonical) if canonical else None
    if event is None or event.actor_user_id != bot.id:
        raise InvalidField("event_id", "not_found", "This bot has no such event.")
    personal.move_marker(actor, subject_of(bot.id), event.id)


def _around(events: Sequence[AuditEvent]) -> Around:
    """What the events refer to, in a statement for each kind."""
    tickets = {one.ticket_id for one in events if one.ticket_id}
    requests = {one.request_id for one in events if one.request_id}
    named: dict[str, tuple[str, str]] = {}
    if tickets:
        rows = session.execute(
            select(Ticket.id, Ticket.display_id, Ticket.title).where(Ticket.id.in_(tickets))
        )
        named = {row.id: (row.display_id, row.title) for row in rows}
    calls = session.execute(
        select(ToolInvocation.request_id, ToolInvocation.tool_name).where(
            ToolInvocation.request_id.in_(requests)
        )
    )
    return Around(
        tickets=named,
        pages=_pages({one.target_id for one in events if one.target_kind == "wiki_page"}),
        labels=_labels(events),
        tools={row.request_id: row.tool_name for row in calls},
        bodies=_bodies(events),
        undone=undone_of(events),
    )


def _pages(wanted: set[str | None]) -> dict[str, ReviewPage]:
    if not wanted:
        return {}
    rows = session.execute(
        select(WikiPage.id, WikiPage.title, WikiPage.slug, Project.key)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(WikiPage.id.in_(wanted))
    )
    return {row.id: ReviewPage(row.title, row.slug, row.key) for row in rows}


def _labels(events: Iterable[AuditEvent]) -> dict[str, str]:
    wanted: set[str] = set()
    for event in events:
        change = event.payload.get("changes", {}).get("label_ids", {})
        wanted.update(change.get("from") or (), change.get("to") or ())
    if not wanted:
        return {}
    rows = session.execute(select(Label.id, Label.name).where(Label.id.in_(wanted)))
    return {row.id: row.name for row in rows}


def _bodies(events: Iterable[AuditEvent]) -> dict[tuple[str, int], str]:
    """The texts before and after each save of a page."""
    wanted: dict[str, set[int]] = {}
    for event in events:
        if event.event_type == "wiki.updated" and event.payload["body_changed"]:
            number = event.payload["revision_number"]
            wanted.setdefault(event.target_id or "", set()).update((number - 1, number))
    if not wanted:
        return {}
    rows = session.execute(
        select(WikiRevision.page_id, WikiRevision.revision_number, WikiRevision.body).where(
            or_(
                *(
                    (WikiRevision.page_id == page_id) & WikiRevision.revision_number.in_(numbers)
                    for page_id, numbers in wanted.items()
                )
            )
        )
    )
    return {(row.page_id, row.revision_number): row.body for row in rows}


def undone_of(events: Sequence[AuditEvent]) -> frozenset[str]:
    """Those of the events that were undone, and not again since, by anyone."""
    since = events[0].created_at
    of = AuditEvent.payload[UNDO_OF].as_string()
    undoing = select(AuditEvent.id, of.label("of")).where(
        AuditEvent.created_at >= since, of.is_not(None)
    )
    tickets = {one.ticket_id for one in events if one.ticket_id}
    pages = {one.target_id for one in events if one.target_kind == "wiki_page"}
    projects = {one.project_id for one in events if one.event_type in OF_PROJECTS}
    in_them = or_(
        AuditEvent.project_id.in_(projects - {None}),
        *([AuditEvent.project_id.is_(None)] if None in projects else []),
    )
    asked = [
        *([undoing.where(AuditEvent.ticket_id.in_(tickets))] if tickets else []),
        *([undoing.where(AuditEvent.event_type.in_(OF_PAGES), _among(pages))] if pages else []),
        *([undoing.where(AuditEvent.event_type.in_(OF_PROJECTS), in_them)] if projects else []),
    ]
    if not asked:
        return frozenset()
    rows = session.execute(union_all(*asked)).all()
    undone: set[str] = set()
    for identifier, undoes in sorted(rows, reverse=True):
        if identifier not in undone:
            undone.add(undoes)
    return frozenset(undone)


def _among(page_ids: set[str | None]) -> ColumnElement[bool]:
    return AuditEvent.target_id.in_(page_ids)
