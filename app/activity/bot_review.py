"""The review of a bot: its events after a person's read marker, and what they refer to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, func, or_, select, union_all

from app.accounts import personal
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.activity import messages
from app.activity.bot_activity import bot_named
from app.audit.event_types import REVERSIBLE, UNDO_OF, Category
from app.audit.models import AuditEvent, ToolInvocation
from app.audit.reading_status import lacks_reading, receipt_json
from app.audit.receipt_answers import with_answers
from app.audit.receipts import Receipt
from app.audit.service import is_stable
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import DAY_MS, now_ms
from app.core.errors import InvalidField
from app.database.session import by_id, session
from app.projects.models import Project
from app.tickets.models import Ticket
from app.wiki.models import WikiPage, WikiRevision

# The period of a review if there is no marker.
FIRST_LOOK_DAYS = 7
# Events on one page; the next page follows once these are marked as reviewed.
EVENTS_SHOWN = 100
# The limit of the count of further events.
MAX_COUNT = 1000
# Reversible events whose target is part of a project, or a personal note.
OF_PROJECTS = sorted(
    name for name in REVERSIBLE if name.startswith(("label.", "workflow_state.", "sticky_note."))
)
OF_PAGES = sorted(name for name in REVERSIBLE if name.startswith("wiki."))


@dataclass(frozen=True, slots=True)
class ReviewPage:
    title: str
    slug: str
    key: str | None


@dataclass(frozen=True, slots=True)
class References:
    """What the events of a review refer to, by id."""

    # Display id and title.
    tickets: dict[str, tuple[str, str]] = field(default_factory=dict)
    pages: dict[str, ReviewPage] = field(default_factory=dict)
    # The name of the called tool, by request id.
    tools: dict[str, str] = field(default_factory=dict)
    # The traces that clients named, by request id.
    traces: dict[str, str] = field(default_factory=dict)
    # The bodies of wiki revisions, by page and number.
    bodies: dict[tuple[str, int], str] = field(default_factory=dict)
    # The ids of events that were undone.
    undone: frozenset[str] = frozenset()
    # The receipt of what the bot had read, by event.
    receipts: Mapping[str, Receipt | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Review:
    """The events of a bot after a person's marker, oldest first, and what they refer to."""

    bot: UserSummary
    # When the person last marked the bot as reviewed; None if never.
    looked_at: int | None
    since: int
    events: Sequence[AuditEvent]
    references: References
    # The number of further events, up to MAX_COUNT.
    left: int


def _subject(bot: User) -> str:
    return f"bot:{bot.id}"


@operation(Access.HUMAN)
def review(actor: Actor, username: str, *, unread: bool = False) -> Review:
    """The events of a bot after this person's marker; raises NotFound.

    With ``unread`` only changes made without reading, among the first ``MAX_COUNT`` events.
    """
    bot = bot_named(actor, username)
    marker = personal.marker(actor, _subject(bot))
    after = marker.event_id if marker else None
    since = ids.created_ms(after) if after else now_ms() - FIRST_LOOK_DAYS * DAY_MS
    # Together, the conditions select one range of an index.
    conditions = [
        AuditEvent.actor_user_id == bot.id,
        AuditEvent.category == Category.ACTIVITY.value,
        AuditEvent.created_at >= since,
        is_stable(),
    ]
    if after:
        conditions.append(AuditEvent.id > after)
    if unread:
        conditions.append(AuditEvent.id.in_(_without_reading(conditions)))
    events = session.scalars(
        select(AuditEvent)
        .where(*conditions)
        .order_by(AuditEvent.created_at, AuditEvent.id)
        .limit(EVENTS_SHOWN)
    ).all()
    left = 0
    if len(events) == EVENTS_SHOWN:
        counted = (
            select(AuditEvent.id).where(*conditions).limit(MAX_COUNT + EVENTS_SHOWN).subquery()
        )
        total = session.scalar(select(func.count()).select_from(counted)) or 0
        left = total - len(events)
    return Review(
        bot=user_summary(bot.id, bot.type, bot.username, bot.display_name),
        looked_at=marker.updated_at if marker else None,
        since=since,
        events=events,
        references=_references(events) if events else References(),
        left=left,
    )


def _without_reading(conditions: Sequence[ColumnElement[bool]]) -> list[str]:
    """The ids of changes that the bot made without reading, among the first ``MAX_COUNT``."""
    rows = session.execute(
        select(AuditEvent.id, AuditEvent.ticket_id, AuditEvent.receipt)
        .where(*conditions)
        .order_by(AuditEvent.created_at, AuditEvent.id)
        .limit(MAX_COUNT)
    ).all()
    receipts = with_answers((row.id, row.receipt) for row in rows)
    lacking = [
        row.id for row in rows if lacks_reading(receipt_json(receipts[row.id], row.ticket_id))
    ]
    return lacking[: EVENTS_SHOWN * 2]


@operation(Access.HUMAN)
def mark_reviewed(actor: Actor, username: str, event_id: str) -> None:
    """Move the person's marker to an event of the bot; raises NotFound, InvalidField."""
    bot = bot_named(actor, username)
    event = by_id(AuditEvent, event_id)
    if event is None or event.actor_user_id != bot.id:
        raise InvalidField("event_id", "not_found", messages.EVENT_OF_ANOTHER_BOT)
    personal.move_marker(actor, _subject(bot), event.id)


def _references(events: Sequence[AuditEvent]) -> References:
    """Read what the events refer to, with one statement for each kind."""
    ticket_ids = {event.ticket_id for event in events if event.ticket_id}
    tickets: dict[str, tuple[str, str]] = {}
    if ticket_ids:
        rows = session.execute(
            select(Ticket.id, Ticket.display_id, Ticket.title).where(Ticket.id.in_(ticket_ids))
        )
        tickets = {row.id: (row.display_id, row.title) for row in rows}
    columns = (ToolInvocation.request_id, ToolInvocation.tool_name, ToolInvocation.traceparent)
    request_ids = {event.request_id for event in events} - {None}
    calls = session.execute(
        select(*columns).where(ToolInvocation.request_id.in_(request_ids))
    ).all()
    return References(
        tickets=tickets,
        pages=_pages(_page_ids(events)),
        tools={row.request_id: row.tool_name for row in calls},
        traces={row.request_id: row.traceparent for row in calls if row.traceparent},
        bodies=_bodies(events),
        undone=undone_of(events),
        receipts=with_answers((event.id, event.receipt) for event in events),
    )


def _page_ids(events: Iterable[AuditEvent]) -> set[str | None]:
    return {event.target_id for event in events if event.target_kind == "wiki_page"}


def _pages(page_ids: set[str | None]) -> dict[str, ReviewPage]:
    if not page_ids:
        return {}
    rows = session.execute(
        select(WikiPage.id, WikiPage.title, WikiPage.slug, Project.key)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(WikiPage.id.in_(page_ids))
    )
    return {row.id: ReviewPage(row.title, row.slug, row.key) for row in rows}


def _bodies(events: Iterable[AuditEvent]) -> dict[tuple[str, int], str]:
    """The bodies before and after each save of a page."""
    numbers_by_page: dict[str, set[int]] = {}
    for event in events:
        if event.event_type == "wiki.updated" and event.payload["body_changed"]:
            number = event.payload["revision_number"]
            numbers_by_page.setdefault(event.target_id or "", set()).update((number - 1, number))
    if not numbers_by_page:
        return {}
    rows = session.execute(
        select(WikiRevision.page_id, WikiRevision.revision_number, WikiRevision.body).where(
            or_(
                *(
                    (WikiRevision.page_id == page_id) & WikiRevision.revision_number.in_(numbers)
                    for page_id, numbers in numbers_by_page.items()
                )
            )
        )
    )
    return {(row.page_id, row.revision_number): row.body for row in rows}


def undone_of(events: Sequence[AuditEvent]) -> frozenset[str]:
    """The ids of undone events, except those whose undo was itself undone."""
    undoes = AuditEvent.payload[UNDO_OF].as_string()
    undoing = select(AuditEvent.id, undoes.label("of")).where(
        AuditEvent.created_at >= events[0].created_at, undoes.is_not(None)
    )
    # One statement per subject, so that each can use an index.
    statements = []
    if ticket_ids := {event.ticket_id for event in events if event.ticket_id}:
        statements.append(undoing.where(AuditEvent.ticket_id.in_(ticket_ids)))
    if page_ids := _page_ids(events):
        in_pages = AuditEvent.target_id.in_(page_ids)
        statements.append(undoing.where(AuditEvent.event_type.in_(OF_PAGES), in_pages))
    if project_ids := {event.project_id for event in events if event.event_type in OF_PROJECTS}:
        in_projects: ColumnElement[bool] = AuditEvent.project_id.in_(project_ids - {None})
        if None in project_ids:
            in_projects = or_(in_projects, AuditEvent.project_id.is_(None))
        statements.append(undoing.where(AuditEvent.event_type.in_(OF_PROJECTS), in_projects))
    if not statements:
        return frozenset()
    undone: set[str] = set()
    # Newest first: an undo that is undone itself has no effect.
    for identifier, undone_id in sorted(session.execute(union_all(*statements)), reverse=True):
        if identifier not in undone:
            undone.add(undone_id)
    return frozenset(undone)
