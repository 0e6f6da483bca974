"""What a person finds at home besides their own tickets: who waits for them, and what bots did.

All of it is derived: a hand-over is a bot's ``ticket.assigned``, a mention is ``@name`` in a
comment that one has not answered, and how far one has read is a marker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, func, literal, or_, select, union_all

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import ReadMarker, User
from app.audit.catalogue import Category
from app.audit.models import AuditEvent
from app.core import ids
from app.core.actor import Access, Actor, ActorKind, operation
from app.core.clock import DAY_MS, now_ms
from app.database.session import session
from app.inbox.mentions import may_mention, mention_of
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.models import Ticket, TicketWatcher
from app.wiki import loaders as wiki
from app.wiki.models import WikiPage

SUBJECT = "home"
# Mentions and hand-overs older than this are lost from sight; so is what bots did before.
DAYS = 14
EVENTS_READ = 1000
NEEDS_SHOWN = 20
ROWS = 8
SNIPPET = 240

REFUSALS = "auth.bot.write_attempt_"

# What bots did, in words, with the filter of the audit log that shows it; the first that fits an
# event counts it. The end of a type says what was done, for tickets as for pages and notes.
DEEDS = (
    ("moved", "event_type=ticket.state_changed", ("ticket.state_changed",)),
    ("commented", "event_type=comment.created", ("comment.created",)),
    ("was refused", "event_type=auth.bot.", (REFUSALS,)),
    ("assigned", "event_type=ticket.assigned", ("ticket.assigned",)),
    ("created", "category=activity", (".created",)),
    ("deleted", "category=activity", (".deleted",)),
    ("changed", "category=activity", ("",)),
)


@dataclass(frozen=True, slots=True)
class Need:
    """A ticket on which somebody waits for this person."""

    ticket: Any
    by: UserSummary
    # The words that mention the person; empty for a hand-over.
    said: str
    at: int

    @property
    def is_handed_over(self) -> bool:
        """Whether a bot gave the ticket to the person, and so may get it back."""
        return not self.said


@dataclass(frozen=True, slots=True)
class BotDeed:
    """How often a bot did something, and the filter of the audit log that shows it."""

    words: str
    many: int
    query: str


@dataclass(frozen=True, slots=True)
class Doings:
    """What one bot did since the person was here last."""

    bot: UserSummary
    deeds: list[BotDeed]

    @property
    def many(self) -> int:
        """All that it did."""
        return sum(deed.many for deed in self.deeds)


@dataclass(frozen=True, slots=True)
class Destination:
    """A project, a watched ticket or a page: where one may want to go."""

    kind: str
    name: str
    title: str
    key: str | None
    at: int


@operation(Access.HUMAN)
def needs(actor: Actor) -> list[Need]:
    """The open tickets on which somebody waits for the person, the newest first."""
    mentioned = may_mention(actor.username)
    handed = and_(
        AuditEvent.event_type == "ticket.assigned",
        AuditEvent.actor_kind == ActorKind.BOT.value,
        Ticket.assignee_user_id == actor.id,
    )
    rows = session.execute(
        select(
            AuditEvent.event_type,
            AuditEvent.payload,
            AuditEvent.created_at,
            Ticket.id,
            Ticket.display_id,
            Ticket.title,
            Ticket.type,
            User.id.label("user_id"),
            User.type.label("user_type"),
            User.username,
            User.display_name,
        )
        .join(Ticket, Ticket.id == AuditEvent.ticket_id)
        .join(Project, Project.id == Ticket.project_id)
        .join(WorkflowState, WorkflowState.id == Ticket.state_id)
        .join(User, User.id == AuditEvent.actor_user_id)
        .where(
            AuditEvent.event_type.in_(["comment.created", "ticket.assigned"]),
            AuditEvent.created_at >= now_ms() - DAYS * DAY_MS,
            AuditEvent.actor_user_id != actor.id,
            or_(mentioned, handed),
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
            WorkflowState.category != StateCategory.DONE.value,
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(EVENTS_READ)
    ).all()
    return _unanswered(actor, rows)


def _unanswered(actor: Actor, rows: Sequence[Any]) -> list[Need]:
    """Of these events the newest on each ticket, unless the person acted there since."""
    called = mention_of(actor.username)
    found: dict[str, Need] = {}
    for row in rows:
        said = ""
        if row.event_type == "comment.created":
            place = called.search(row.payload.get("body") or "")
            if place is None:
                continue
            start = max(0, place.start() - SNIPPET // 3)
            said = row.payload["body"][start : start + SNIPPET]
        elif row.payload.get("assignee_user_id") != actor.id:
            continue
        by = user_summary(row.user_id, row.user_type, row.username, row.display_name)
        found.setdefault(row.id, Need(row, by, said, row.created_at))
    if not found:
        return []
    mine = session.execute(
        select(AuditEvent.ticket_id, func.max(AuditEvent.created_at).label("at"))
        .where(AuditEvent.ticket_id.in_(list(found)), AuditEvent.actor_user_id == actor.id)
        .group_by(AuditEvent.ticket_id)
    )
    acted = {row.ticket_id: row.at for row in mine}
    waiting = [need for key, need in found.items() if acted.get(key, 0) < need.at]
    return waiting[:NEEDS_SHOWN]


@operation(Access.HUMAN)
def since_last_time(actor: Actor) -> list[Doings]:
    """What each bot did since the person's marker, the busiest first."""
    marker = (
        select(ReadMarker.updated_at)
        .where(ReadMarker.user_id == actor.id, ReadMarker.subject == SUBJECT)
        .scalar_subquery()
    )
    start = func.coalesce(marker, literal(0))
    rows = session.execute(
        select(
            AuditEvent.event_type,
            func.count().label("many"),
            User.id,
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == AuditEvent.actor_user_id)
        .where(
            AuditEvent.created_at >= now_ms() - DAYS * DAY_MS,
            AuditEvent.created_at > start,
            AuditEvent.actor_kind == ActorKind.BOT.value,
            or_(
                AuditEvent.category == Category.ACTIVITY.value,
                AuditEvent.event_type.startswith(REFUSALS),
            ),
        )
        .group_by(AuditEvent.event_type, User.id, User.type, User.username, User.display_name)
    ).all()
    by_bot: dict[str, list[Any]] = {}
    for row in rows:
        by_bot.setdefault(row.id, []).append(row)
    found = [_doings(counted) for counted in by_bot.values()]
    return sorted(found, key=lambda one: -one.many)


def _doings(rows: Sequence[Any]) -> Doings:
    counts = dict.fromkeys((words for words, _, _ in DEEDS), 0)
    for row in rows:
        counts[_deed(row.event_type)] += row.many
    deeds = [BotDeed(words, counts[words], query) for words, query, _ in DEEDS if counts[words]]
    first = rows[0]
    return Doings(user_summary(first.id, first.type, first.username, first.display_name), deeds)


def _deed(event_type: str) -> str:
    return next(
        words
        for words, _, kinds in DEEDS
        if event_type.startswith(kinds) or event_type.endswith(kinds)
    )


@operation(Access.HUMAN)
def destinations(actor: Actor) -> list[Destination]:
    """Projects, watched tickets and pages, of each the latest changed, in one statement."""
    project = (
        select(
            literal("project").label("kind"),
            Project.key.label("name"),
            Project.name.label("title"),
            Project.key.label("key"),
            Project.updated_at.label("at"),
        )
        .where(Project.deleted_at.is_(None))
        .order_by(Project.updated_at.desc())
        .limit(3 * ROWS)
    )
    watched = (
        select(literal("ticket"), Ticket.display_id, Ticket.title, Project.key, Ticket.updated_at)
        .join(TicketWatcher, TicketWatcher.ticket_id == Ticket.id)
        .join(Project, Project.id == Ticket.project_id)
        .where(
            TicketWatcher.user_id == actor.id,
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
        )
        .order_by(Ticket.updated_at.desc())
        .limit(ROWS)
    )
    page = (
        select(literal("page"), WikiPage.slug, WikiPage.title, Project.key, WikiPage.updated_at)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(WikiPage.deleted_at.is_(None), wiki.seen_by(actor))
        .order_by(WikiPage.updated_at.desc())
        .limit(ROWS)
    )
    parts = [select(one.subquery()) for one in (project, watched, page)]
    return [Destination(*row) for row in session.execute(union_all(*parts))]


@operation(Access.HUMAN)
def newest_event(actor: Actor) -> str:
    """The id to which the marker moves when all was seen."""
    found = session.scalar(
        select(AuditEvent.id).order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc()).limit(1)
    )
    return found or ids.new_id()
