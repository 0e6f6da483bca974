"""The guard against runaways.

A bot that creates too much in ten minutes is paused. Most writes query no database: a process that
found a bot far below the limit counts the next few by itself, and soon checks again. The database's
count covers all processes: each additional process can let a bot exceed the limit by what it counts
by itself, five for the default.
"""

from dataclasses import dataclass

from sqlalchemy import Integer, bindparam, column, func, literal_column, select, table

from app.accounts.models import User
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import SYSTEM, Actor
from app.core.clock import MINUTE_MS, now_ms
from app.database.columns import Id, Moment
from app.database.session import Prepared, session
from app.database.versions import touch
from app.files.models import StoredFile
from app.projects.models import Project
from app.projects.service import MAX_CREATION_LIMIT
from app.tickets.models import Comment, Ticket

WINDOW_MS = 10 * MINUTE_MS
# How much a process counts by itself: a share of what is left, up to a small number or, for a high
# limit, a share of it, so that checks cost little; and for how long.
LEFT_DIVISOR = 16
TRUSTED_CREATIONS = 5
LIMIT_DIVISOR = 200
TRUSTED_MS = 5_000
MAX_BOTS = 10_000
# The most rows that are counted, and read, for one bot in one project.
_MAX_COUNTED = literal_column(str(MAX_CREATION_LIMIT + 1), Integer)


@dataclass(slots=True)
class UncheckedCreations:
    """The creations of a bot in a project that are allowed before the next database check."""

    left: int
    until: int


# By bot and project.
_unchecked: dict[tuple[str, str], UncheckedCreations] = {}

_BOUNDS = Prepared(
    select(Project.bot_creation_limit, User.resumed_at)
    .select_from(User)
    .join(Project, Project.id == bindparam("project_id"))
    .where(User.id == bindparam("bot_id"))
)
_tickets = (
    select(Ticket.id)
    .where(
        Ticket.reporter_user_id == bindparam("bot_id"),
        Ticket.created_at >= bindparam("start"),
        Ticket.deleted_at.is_(None),
        Ticket.project_id == bindparam("project_id"),
    )
    .limit(_MAX_COUNTED)
    .subquery()
)
_comments = (
    select(Comment.id)
    .join(Ticket, Ticket.id == Comment.ticket_id)
    .where(
        Comment.author_user_id == bindparam("bot_id"),
        Comment.created_at >= bindparam("start"),
        Comment.deleted_at.is_(None),
        Ticket.deleted_at.is_(None),
        Ticket.project_id == bindparam("project_id"),
    )
    .limit(_MAX_COUNTED)
    .subquery()
)
# Files only know their page. The wiki, which has the model, is above this package.
_pages = table(
    "wiki_pages", column("id", Id), column("project_id", Id), column("deleted_at", Moment)
)
_files = (
    select(StoredFile.id)
    .outerjoin(Ticket, Ticket.id == StoredFile.ticket_id)
    .outerjoin(_pages, _pages.c.id == StoredFile.page_id)
    .where(
        # The id begins with the time.
        StoredFile.id >= bindparam("first_id"),
        StoredFile.uploader_user_id == bindparam("bot_id"),
        func.coalesce(Ticket.project_id, _pages.c.project_id) == bindparam("project_id"),
        func.coalesce(Ticket.deleted_at, _pages.c.deleted_at).is_(None),
    )
    .limit(_MAX_COUNTED)
    .subquery()
)
_CREATED = Prepared(
    select(
        select(func.count()).select_from(_tickets).scalar_subquery().label("tickets"),
        select(func.count()).select_from(_comments).scalar_subquery().label("comments"),
        select(func.count()).select_from(_files).scalar_subquery().label("files"),
    )
)


def count_creation(actor: Actor, project_id: str) -> None:
    """Count what the actor just created: a ticket, a comment, or a file on a ticket or page.

    A bot that created too much is paused.
    """
    if not actor.is_bot:
        return
    key = (actor.id, project_id)
    moment = now_ms()
    unchecked = _unchecked.get(key)
    if unchecked is not None and unchecked.left > 0 and moment < unchecked.until:
        unchecked.left -= 1
        return
    bounds = _BOUNDS.first(bot_id=actor.id, project_id=project_id)
    limit = bounds.bot_creation_limit
    left = trusted = MAX_CREATION_LIMIT
    if limit:
        start = max(moment - WINDOW_MS, bounds.resumed_at or 0)
        row = _CREATED.first(
            bot_id=actor.id, project_id=project_id, start=start, first_id=ids.id_at(start)
        )
        left = limit - row.tickets - row.comments - row.files
        trusted = min(left // LEFT_DIVISOR, max(TRUSTED_CREATIONS, limit // LIMIT_DIVISOR))
    if left < 0:
        _unchecked.pop(key, None)
        _pause(actor, project_id, limit)
        return
    if len(_unchecked) >= MAX_BOTS:
        _unchecked.clear()
    _unchecked[key] = UncheckedCreations(trusted, moment + TRUSTED_MS)


def _pause(actor: Actor, project_id: str, limit: int) -> None:
    bot = session.get_one(User, actor.id, with_for_update=True)
    if bot.is_paused:
        return
    bot.is_paused = True
    touch(bot)
    session.flush()
    target = Target("bot", bot.id, project_id=project_id)
    record(SYSTEM, "bot.paused", target, username=bot.username, project_id=project_id, limit=limit)
