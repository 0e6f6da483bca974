"""The verbs of feeds: people make and revoke their own; a token is enough to read a feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from app.accounts import credentials
from app.accounts.login import human_actor
from app.accounts.models import User
from app.activity.sentences import in_words
from app.activity.service import list_project_activity
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.core.errors import Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.core.logs import REDACTED
from app.database.pagination import Page, page
from app.database.session import AnyRow, Prepared, session
from app.feeds import messages
from app.feeds.models import Feed, FeedKind
from app.projects import loaders
from app.projects.loaders import SeenProject
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.comments import with_texts
from app.tickets.models import Ticket

# The most entries of a feed: the tickets due first, or the newest events.
MAX_DUE_TICKETS = 500
MAX_EVENTS = 50
FILE_NAMES = {FeedKind.CALENDAR: "calendar.ics", FeedKind.ACTIVITY: "activity.atom"}

_BY_TOKEN = Prepared(
    select(Feed.id, Feed.kind, Feed.project_id, Feed.user_id, User.username, User.is_active)
    .join(User, User.id == Feed.user_id)
    .where(Feed.token_hash == bindparam("token_hash"))
)
_DUE = (
    select(
        Ticket.id,
        Ticket.display_id,
        Ticket.title,
        Ticket.due_date,
        Ticket.priority,
        Ticket.updated_at,
        WorkflowState.name.label("state"),
        Project.key,
    )
    .join(WorkflowState, WorkflowState.id == Ticket.state_id)
    .join(Project, Project.id == Ticket.project_id)
    .where(
        Ticket.due_date.is_not(None),
        Ticket.deleted_at.is_(None),
        Project.deleted_at.is_(None),
        WorkflowState.category != StateCategory.DONE.value,
    )
    .order_by(Ticket.due_date, Ticket.id)
    .limit(MAX_DUE_TICKETS)
)


@dataclass(frozen=True, slots=True)
class IssuedFeed:
    """A new feed, the key of its project, and its token, which is stored nowhere."""

    feed: Feed
    project_key: str | None
    token: str

    def address(self, base_url: str) -> str:
        """The URL of the feed; anyone who has it can read the feed."""
        return f"{base_url}/feed/{self.token}/{FILE_NAMES[FeedKind(self.feed.kind)]}"


@dataclass(frozen=True, slots=True)
class OpenedFeed:
    """A feed requested with its token, and its owner, whose permissions apply."""

    id: str
    owner: Actor
    # None in a calendar of all tickets assigned to the owner.
    project: SeenProject | None


@operation(Access.HUMAN)
def list_feeds(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """One's own feeds, oldest first."""
    return page(
        select(Feed.id, Feed.kind, Feed.project_id, Project.key, Feed.created_at)
        .outerjoin(Project, Project.id == Feed.project_id)
        .where(Feed.user_id == actor.id),
        kind="feed",
        sort=Feed.created_at,
        id_column=Feed.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [feed_json(row, row.key) for row in rows],
        ascending=True,
    )


def feed_json(feed: Feed | AnyRow, project_key: str | None) -> dict[str, Any]:
    """A feed in the form of REST, without its address."""
    return {
        "id": feed.id,
        "kind": feed.kind,
        "project_id": feed.project_id,
        "project_key": project_key,
        "created_at": iso(feed.created_at),
    }


@operation(Access.HUMAN)
def create_feed(actor: Actor, *, kind: str, project_id: str | None = None) -> IssuedFeed:
    """Make a feed, whose token is shown only once.

    Replaces a feed of the same kind and project, so that a person has few feeds. Raises
    InvalidField, NotFound or Gone.
    """
    if kind == FeedKind.ACTIVITY and project_id is None:
        raise InvalidField("project_id", "blank", messages.ACTIVITY_NEEDS_A_PROJECT)
    project = loaders.visible(actor, project_id) if project_id is not None else None
    credentials.lock_exclusive(actor.id)
    same_project = Feed.project_id.is_(None) if project is None else Feed.project_id == project.id
    of_same = select(Feed).where(Feed.user_id == actor.id, Feed.kind == kind, same_project)
    for earlier in session.scalars(of_same):
        _revoke(actor, earlier)
    token, identifier = credentials.new_secret(), ids.new_id()
    feed = Feed(
        id=identifier,
        user_id=actor.id,
        kind=kind,
        project_id=None if project is None else project.id,
        token_hash=credentials.hashed(token),
        created_at=ids.created_ms(identifier),
    )
    session.add(feed)
    session.flush()
    record(actor, "feed.created", _target(feed), kind=kind, project_id=feed.project_id)
    return IssuedFeed(feed, None if project is None else project.key, token)


@operation(Access.HUMAN)
def revoke_feed(actor: Actor, feed_id: str) -> None:
    """End one of one's own feeds, whose URL then returns 404; raises NotFound."""
    identifier = as_uuid(feed_id)
    credentials.lock_exclusive(actor.id)
    feed = session.get(Feed, identifier) if identifier else None
    if feed is None or feed.user_id != actor.id:
        raise NotFound("feed", feed_id)
    _revoke(actor, feed)


def _revoke(actor: Actor, feed: Feed) -> None:
    session.delete(feed)
    session.flush()
    record(actor, "feed.revoked", _target(feed), kind=feed.kind, project_id=feed.project_id)


def _target(feed: Feed) -> Target:
    return Target("feed", feed.id, project_id=feed.project_id)


@operation(Access.PUBLIC)
def open_feed(actor: Actor, token: str, kind: FeedKind) -> OpenedFeed:
    """The feed of this token, if its owner is active and may see its project; raises NotFound."""
    row = _BY_TOKEN.first(token_hash=credentials.hashed(token))
    missing = NotFound("feed", REDACTED)
    if row is None or row.kind != kind or not row.is_active:
        raise missing
    owner = human_actor(User(id=row.user_id, username=row.username))
    if row.project_id is None:
        return OpenedFeed(row.id, owner, None)
    try:
        return OpenedFeed(row.id, owner, loaders.visible(owner, row.project_id))
    except (NotFound, Gone):
        raise missing from None


def due_tickets(feed: OpenedFeed) -> Sequence[AnyRow]:
    """The open tickets of a calendar, the earliest due date first."""
    if feed.project is None:
        return session.execute(_DUE.where(Ticket.assignee_user_id == feed.owner.id)).all()
    return session.execute(_DUE.where(Ticket.project_id == feed.project.id)).all()


def newest_events(feed: OpenedFeed, project: SeenProject) -> list[dict[str, Any]]:
    """The newest events of a project with sentences and texts, as the feed's owner sees them."""
    listed = list_project_activity(feed.owner, project.id, limit=MAX_EVENTS, cursor=None)
    return with_texts(in_words(listed.data))
