"""The newest comments and events of a ticket for its stream, and the names in them."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, and_, bindparam, case, literal_column, or_, select, tuple_

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User, UserType
from app.audit.event_types import UNDO_OF, Category
from app.audit.models import AuditEvent, ToolInvocation
from app.audit.receipt_answers import with_answers
from app.database.session import Prepared, session
from app.projects.models import Label
from app.tickets import links, reactions
from app.tickets.comments import comment_json
from app.tickets.models import Comment, Ticket

EVENTS_SHOWN = 200
COMMENTS_SHOWN = 200
# Events that change the page: the activity of the ticket, and events that no feed shows.
SHOWN = or_(
    AuditEvent.category == Category.ACTIVITY.value,
    AuditEvent.event_type.in_((reactions.REACTED, links.LINK_CHANGED)),
)


@lru_cache
def _comments(given: frozenset[str]) -> Prepared:
    """The newest comments of a ticket; ``given`` names the filters of ``comments_of`` in use."""
    at = tuple_(Comment.created_at, Comment.id)
    optional = {
        "among": Comment.id.in_(bindparam("among", expanding=True)),
        "before": at < tuple_(bindparam("created_at"), bindparam("before")),
    }
    return Prepared(
        select(
            Comment.id,
            Comment.ticket_id,
            Comment.author_user_id,
            Comment.body,
            Comment.edit_history,
            Comment.created_at,
            Comment.updated_at,
            Comment.deleted_at,
            reactions.REACTIONS,
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == Comment.author_user_id)
        .where(
            Comment.ticket_id == bindparam("ticket_id"),
            *(optional[name] for name in sorted(given)),
        )
        .order_by(Comment.created_at.desc(), Comment.id.desc())
        # One extra row shows whether there are older ones.
        .limit(literal_column(str(COMMENTS_SHOWN + 1), Integer))
    )


def comments_of(
    ticket_id: str, *, among: Collection[str] | None = None, before: Comment | None = None
) -> list[dict[str, Any]]:
    """The newest comments on a ticket, deleted ones too, oldest first.

    ``among`` limits the ids, ``before`` the time.
    """
    values: dict[str, Any] = {} if among is None else {"among": list(among)}
    given = frozenset(values)
    if before is not None:
        given |= {"before"}
        values |= {"created_at": before.created_at, "before": before.id}
    rows = _comments(given).all(ticket_id=ticket_id, **values)
    return [
        comment_json(
            row,
            user_summary(row.author_user_id, row.type, row.username, row.display_name),
            reactions.reactions_in(row.reactions),
        )
        for row in reversed(rows)
    ]


def later_comment(comment: Comment) -> str | None:
    """The id of the comment before which a page of older comments has this one in its middle.

    None for one of the newest, which the page of the ticket shows.
    """
    at = tuple_(Comment.created_at, Comment.id)
    statement = (
        select(Comment.id)
        .where(
            Comment.ticket_id == comment.ticket_id,
            at > tuple_(bindparam("created_at"), bindparam("after")),
        )
        .order_by(Comment.created_at, Comment.id)
        .limit(COMMENTS_SHOWN)
    )
    here = {"created_at": comment.created_at, "after": comment.id}
    later = session.scalars(statement, here).all()
    return later[COMMENTS_SHOWN // 2] if len(later) == COMMENTS_SHOWN else None


@lru_cache
def _events(given: frozenset[str]) -> Prepared:
    """The newest events of a ticket; ``given`` names the filters of ``events_of`` in use."""
    is_comment = AuditEvent.event_type.like("comment.%")
    its_comment = AuditEvent.payload["comment_id"].as_string()
    called = (
        select(ToolInvocation.tool_name)
        .where(ToolInvocation.request_id == AuditEvent.request_id)
        .limit(literal_column("1", Integer))
        .scalar_subquery()
    )
    optional = {
        "request_id": AuditEvent.request_id == bindparam("request_id"),
        "comment_id": and_(is_comment, its_comment == bindparam("comment_id")),
        "among": AuditEvent.id.in_(bindparam("among", expanding=True)),
    }
    return Prepared(
        select(
            AuditEvent.id,
            AuditEvent.event_type,
            case((~is_comment, AuditEvent.payload)).label("payload"),
            case((is_comment, its_comment)).label("comment_id"),
            AuditEvent.payload[UNDO_OF].as_string().label(UNDO_OF),
            AuditEvent.request_id,
            AuditEvent.created_at,
            AuditEvent.receipt,
            case((User.type == UserType.BOT.value, called)).label("tool"),
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .outerjoin(User, User.id == AuditEvent.actor_user_id)
        .where(
            AuditEvent.ticket_id == bindparam("ticket_id"),
            SHOWN,
            *(optional[name] for name in sorted(given)),
        )
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(literal_column(str(EVENTS_SHOWN), Integer))
    )


def events_of(
    ticket_id: str,
    *,
    request_id: str | None = None,
    comment_id: str | None = None,
    among: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """The newest events of a ticket, oldest first; each given argument filters them.

    An event of a comment has the id of the comment instead of a payload.
    """
    given: dict[str, Any] = {
        "request_id": request_id,
        "comment_id": comment_id,
        "among": None if among is None else list(among),
    }
    given = {name: value for name, value in given.items() if value is not None}
    rows = _events(frozenset(given)).all(ticket_id=ticket_id, **given)
    receipts = with_answers((row.id, row.receipt) for row in rows)
    return [
        {
            "id": row.id,
            "event_type": row.event_type,
            "payload": row.payload or {},
            "comment_id": row.comment_id,
            "undo_of": row.undo_of,
            "request_id": row.request_id,
            "tool": row.tool,
            "created_at": row.created_at,
            "receipt": receipts[row.id],
            "actor": actor_of(row),
        }
        for row in reversed(rows)
    ]


def actor_of(row: Any) -> UserSummary | None:
    """The summary of the user that a row joins, if any."""
    if row.user_id is None:
        return None
    return user_summary(row.user_id, row.type, row.username, row.display_name)


_NAMES = Prepared(
    select(User.id, User.display_name.label("name"))
    .where(User.id.in_(bindparam("ids", expanding=True)))
    .union_all(
        select(Ticket.id, Ticket.display_id).where(Ticket.id.in_(bindparam("ids", expanding=True))),
        select(Label.id, Label.name).where(Label.id.in_(bindparam("ids", expanding=True))),
    )
)


def names_of(identifiers: Iterable[str]) -> dict[str, str]:
    """Names of users and labels, and display ids of tickets, by id."""
    ids = list(identifiers)
    return {row.id: row.name for row in _NAMES.all(ids=ids)} if ids else {}
