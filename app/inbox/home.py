"""The home page besides a person's own tickets: who waits for them, what bots did, where to go.

All of it is derived: a hand-over is a bot's ``ticket.assigned``, a mention is ``@name`` in an
unanswered comment, and a read marker shows what the person has seen.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import String, and_, cast, func, literal, or_, select, union, union_all
from sqlalchemy.orm import aliased

from app.accounts import personal
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import ReadMarker, User
from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.audit.service import is_stable
from app.core import ids
from app.core.actor import Access, Actor, ActorKind, operation
from app.core.clock import DAY_MS, now_ms
from app.database.columns import Id
from app.database.session import session
from app.inbox.mentions import COMMENT_CREATED, is_mentioned, may_mention
from app.inbox.service import MAX_TICKETS_PER_KIND, event_of, mentioned_tickets
from app.inbox.sign_offs import last_comment
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.comments import present_bodies
from app.tickets.models import Comment, CommentReaction, Ticket, TicketWatcher
from app.wiki import loaders as wiki
from app.wiki.models import WikiPage

SUBJECT = "home"
# Older events are not considered.
DAYS = 14
EVENTS_READ = 1000
NEEDS_SHOWN = 20
ROWS = 8

REFUSALS = "auth.bot.write_attempt_"

# Events by which a person answers a mention or a hand-over.
ANSWERS = (COMMENT_CREATED, "ticket.state_changed", "ticket.assigned")

# Words for bots' actions, singular and plural, and the prefixes or suffixes of their event types.
# The first entry that matches an event counts it.
ACTIONS = (
    ("moved", "moved", ("ticket.state_changed",)),
    ("comment", "comments", (COMMENT_CREATED,)),
    ("denied", "denied", (REFUSALS,)),
    ("assigned", "assigned", ("ticket.assigned",)),
    ("created", "created", (".created",)),
    ("deleted", "deleted", (".deleted",)),
    ("changed", "changed", ("",)),
)


@dataclass(frozen=True, slots=True)
class Need:
    """A ticket on which someone waits for this person."""

    ticket: Any
    by: UserSummary
    # The comment that mentions the person, or the bot's last comment before the hand-over.
    said: str
    at: int
    # Whether a bot assigned the ticket to the person, who can hand it back.
    is_handed_over: bool
    event_id: str


@dataclass(frozen=True, slots=True)
class BotAction:
    words: str
    many: int
    event_types: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class BotActivity:
    bot: UserSummary
    actions: list[BotAction]
    # The id of the newest event that is counted.
    newest: str

    @property
    def many(self) -> int:
        return sum(action.many for action in self.actions)


@dataclass(frozen=True, slots=True)
class Destination:
    """A recently changed project, watched ticket or wiki page."""

    kind: str
    name: str
    title: str
    key: str | None
    at: int


@operation(Access.HUMAN)
def needs(actor: Actor, *, besides: Collection[str] = ()) -> list[Need]:
    """The tickets on which someone waits for the person, newest first, but those ``besides``.

    A done ticket does not wait, unless the person is mentioned on it afterwards. There is one more
    than ``NEEDS_SHOWN`` if not all are shown.
    """
    handed = and_(
        AuditEvent.event_type == "ticket.assigned",
        AuditEvent.actor_kind == ActorKind.BOT.value,
        Ticket.assignee_user_id == actor.id,
    )
    # The newest tickets that are assigned to the person or mention them.
    held = (
        select(Ticket.id)
        .where(Ticket.assignee_user_id == actor.id, Ticket.deleted_at.is_(None))
        .order_by(Ticket.created_at.desc(), Ticket.id.desc())
        .limit(MAX_TICKETS_PER_KIND)
    )
    mentioned = select(Ticket.id).where(Ticket.id.in_(mentioned_tickets(actor)))
    moved = aliased(AuditEvent)
    moved_at = select(func.coalesce(func.max(moved.created_at), 0)).where(
        moved.ticket_id == Ticket.id, moved.event_type == "ticket.state_changed"
    )
    is_after_done = and_(~handed, AuditEvent.created_at > moved_at.scalar_subquery())
    rows = session.execute(
        select(
            AuditEvent.id.label("event_id"),
            AuditEvent.event_type,
            AuditEvent.payload,
            AuditEvent.created_at,
            Ticket.id,
            Ticket.project_id,
            Project.key,
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
            AuditEvent.ticket_id.in_(union(select(held.subquery()), mentioned)),
            AuditEvent.created_at >= now_ms() - DAYS * DAY_MS,
            AuditEvent.actor_user_id != actor.id,
            or_(may_mention(actor.username), handed),
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
            or_(WorkflowState.category != StateCategory.DONE.value, is_after_done),
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(EVENTS_READ)
    ).all()
    return _unanswered(actor, [row for row in rows if row.id not in besides])


def _unanswered(actor: Actor, rows: Sequence[Any]) -> list[Need]:
    """The newest event of each ticket on which the person did not answer later.

    A hand-over takes precedence over a mention, as the ticket can be handed back to someone.
    """
    bodies = present_bodies(
        row.payload["comment_id"] for row in rows if row.event_type == COMMENT_CREATED
    )
    needs_by_ticket: dict[str, Need] = {}
    for row in rows:
        is_comment = row.event_type == COMMENT_CREATED
        # A deleted comment mentions nobody; for an edited comment, the current text counts.
        body = bodies.get(row.payload["comment_id"], "") if is_comment else ""
        if is_comment and (row.id in needs_by_ticket or not is_mentioned(actor.username, body)):
            continue
        if not is_comment and row.payload.get("assignee_user_id") != actor.id:
            continue
        by = user_summary(row.user_id, row.user_type, row.username, row.display_name)
        need = Need(row, by, body, row.created_at, not is_comment, row.event_id)
        newer = needs_by_ticket.setdefault(row.id, need)
        if need.is_handed_over and not newer.is_handed_over:
            # If the bot has since mentioned the person, that comment is its question.
            is_same = newer.by["id"] == by["id"]
            newest = newer if is_same else need
            needs_by_ticket[row.id] = replace(newest, at=newer.at, is_handed_over=True)
    if not needs_by_ticket:
        return []
    answered_at = _answered_at(actor, needs_by_ticket)
    unanswered = [
        need for key, need in needs_by_ticket.items() if answered_at.get(key, 0) < need.at
    ]
    return _with_questions(unanswered[: NEEDS_SHOWN + 1])


def _answered_at(actor: Actor, needs_by_ticket: Mapping[str, Need]) -> dict[str, int]:
    """When the person last answered on each ticket; a reaction to the mention is an answer too."""
    answers = (
        select(AuditEvent.ticket_id, func.max(AuditEvent.created_at).label("at"))
        .where(
            AuditEvent.ticket_id.in_(list(needs_by_ticket)),
            AuditEvent.actor_user_id == actor.id,
            AuditEvent.event_type.in_(ANSWERS),
        )
        .group_by(AuditEvent.ticket_id)
    )
    mentions = [
        need.ticket.payload["comment_id"]
        for need in needs_by_ticket.values()
        if not need.is_handed_over
    ]
    reactions = (
        select(Comment.ticket_id, CommentReaction.created_at)
        .join(CommentReaction, CommentReaction.comment_id == Comment.id)
        .where(CommentReaction.user_id == actor.id, Comment.id.in_(mentions))
    )
    rows: Sequence[Any] = session.execute(union_all(answers, reactions)).all()
    answered_at: dict[str, int] = {}
    for row in rows:
        answered_at[row.ticket_id] = max(row.at, answered_at.get(row.ticket_id, 0))
    return answered_at


def _with_questions(needs: list[Need]) -> list[Need]:
    """The needs, with the bot's last comment before each hand-over."""
    handed = [need.event_id for need in needs if not need.said]
    if not handed:
        return needs
    said = last_comment(Comment.created_at <= AuditEvent.created_at)
    rows = session.execute(
        select(AuditEvent.id, said.label("body")).where(AuditEvent.id.in_(handed))
    )
    questions = {row.id: row.body or "" for row in rows}
    return [replace(need, said=questions.get(need.event_id, need.said)) for need in needs]


@operation(Access.HUMAN)
def since_last_time(actor: Actor) -> list[BotActivity]:
    """What each bot did after the person's read marker, the busiest bot first."""
    marker = select(ReadMarker.event_id).where(
        ReadMarker.user_id == actor.id, ReadMarker.subject == SUBJECT
    )
    seen = aliased(AuditEvent)
    seen_at = select(seen.created_at).where(seen.id == marker.scalar_subquery())
    rows = session.execute(
        select(
            AuditEvent.event_type,
            AuditEvent.category,
            func.count().label("many"),
            func.max(cast(AuditEvent.id, String)).label("newest"),
            User.id,
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == AuditEvent.actor_user_id)
        .where(
            AuditEvent.created_at >= now_ms() - DAYS * DAY_MS,
            # Lets the index find the few events that are so new.
            AuditEvent.created_at >= func.coalesce(seen_at.scalar_subquery(), 0),
            AuditEvent.id > func.coalesce(marker.scalar_subquery(), literal(ids.NIL_ID, Id)),
            is_stable(),
            AuditEvent.actor_kind == ActorKind.BOT.value,
            or_(
                AuditEvent.category == Category.ACTIVITY.value,
                AuditEvent.event_type.startswith(REFUSALS),
            ),
        )
        .group_by(
            AuditEvent.event_type,
            AuditEvent.category,
            User.id,
            User.type,
            User.username,
            User.display_name,
        )
    ).all()
    by_bot: dict[str, list[Any]] = {}
    for row in rows:
        by_bot.setdefault(row.id, []).append(row)
    return sorted(map(_activity, by_bot.values()), key=lambda activity: -activity.many)


@operation(Access.HUMAN)
def mark_seen(actor: Actor, event_id: str) -> None:
    """Mark what bots did up to this event as seen; raises InvalidField if there is none."""
    personal.move_marker(actor, SUBJECT, event_of(event_id).id)


def _activity(rows: Sequence[Any]) -> BotActivity:
    actions = []
    for action in ACTIONS:
        once, words, _ = action
        counted = [row for row in rows if _action(row.event_type) == action]
        many = sum(row.many for row in counted)
        if many:
            event_types = tuple(sorted(row.event_type for row in counted))
            shown = once if many == 1 else words
            actions.append(BotAction(shown, many, event_types, counted[0].category))
    first = rows[0]
    return BotActivity(
        user_summary(first.id, first.type, first.username, first.display_name),
        actions,
        max(row.newest for row in rows),
    )


def _action(event_type: str) -> tuple[str, str, tuple[str, ...]]:
    return next(
        action
        for action in ACTIONS
        if event_type.startswith(action[2]) or event_type.endswith(action[2])
    )


@operation(Access.HUMAN)
def destinations(actor: Actor) -> list[Destination]:
    """The most recently changed projects, watched tickets and wiki pages, in one statement."""
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
    """The id of the newest stable event: a browser is notified of what comes after it."""
    newest_first = (AuditEvent.created_at.desc(), AuditEvent.id.desc())
    event_id = session.scalar(
        select(AuditEvent.id).where(is_stable()).order_by(*newest_first).limit(1)
    )
    return event_id or ids.new_id()
