"""Comment verbs. Only the author edits; the author and any human may delete.

A human may also undo an edit, and an import edits its own comments to show their files.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlalchemy import Table, insert, select

from app.accounts import user_refs
from app.accounts.builders import UserSummary, user_summary
from app.audit.service import record
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none, next_version, now_ms
from app.core.errors import Conflict, Forbidden
from app.database.pagination import Page, page
from app.database.session import Prepared, pipeline, session
from app.database.versions import touch
from app.tickets import loaders, messages, reactions, runaways, searching
from app.tickets.discussion import discussed
from app.tickets.models import Comment, Ticket

# Events whose comment has a text to show.
COMMENT_TEXT_EVENTS = ("comment.created", "comment.updated")


def comment_json(
    comment: Comment, author: UserSummary, reacted: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "id": comment.id,
        "ticket_id": comment.ticket_id,
        "author_user_id": comment.author_user_id,
        "author": author,
        "body": comment.body,
        "edit_history": _history_json(comment),
        "reactions": reacted,
        "created_at": iso(comment.created_at),
        "updated_at": iso(comment.updated_at),
        "deleted_at": iso_or_none(comment.deleted_at),
    }


def _history_json(comment: Comment) -> list[dict[str, Any]]:
    return [
        {"body": entry["body"], "edited_at": iso(entry["edited_at"])}
        for entry in comment.edit_history
    ]


def described(actor: Actor, comment: Comment, *, is_new: bool = False) -> dict[str, Any]:
    """The JSON of one comment; looks up only what the actor and ``is_new`` do not determine."""
    author_id = comment.author_user_id
    if author_id == actor.user_id:
        author = user_summary(author_id, actor.kind.value, actor.username, actor.display_name)
    else:
        author = user_refs.summaries([author_id])[author_id]
    return comment_json(comment, author, [] if is_new else reactions.of_comment(comment.id))


@operation(Access.READ)
def list_comments(
    actor: Actor, reference: str, *, limit: int, cursor: str | None, include_deleted: bool = False
) -> Page:
    """The ticket's comments, oldest first."""
    ticket = loaders.visible(actor, reference, include_deleted=include_deleted)
    statement = select(Comment, Comment.id, Comment.created_at, reactions.REACTIONS).where(
        Comment.ticket_id == ticket.id
    )
    if not include_deleted:
        statement = statement.where(Comment.deleted_at.is_(None))
    return page(
        statement,
        kind="comment",
        sort=Comment.created_at,
        id_column=Comment.id,
        limit=limit,
        cursor=cursor,
        build=_comments_json,
        ascending=True,
    )


def newest(ticket_id: str, limit: int) -> list[dict[str, Any]]:
    """The newest comments of a ticket that the actor sees, oldest first."""
    statement = (
        select(Comment, reactions.REACTIONS)
        .where(Comment.ticket_id == ticket_id, Comment.deleted_at.is_(None))
        .order_by(Comment.created_at.desc(), Comment.id.desc())
        .limit(limit)
    )
    return _comments_json(session.execute(statement).all()[::-1])


def present_bodies(comment_ids: Iterable[str]) -> dict[str, str]:
    """The bodies, by id, of these comments, without deleted ones."""
    wanted = list(comment_ids)
    if not wanted:
        return {}
    rows = session.execute(
        select(Comment.id, Comment.body).where(Comment.id.in_(wanted), Comment.deleted_at.is_(None))
    )
    return {row.id: row.body for row in rows}


def with_texts(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with ``text``: the current text of a created or edited comment, else ""."""
    events = list(events)
    said = {
        one["id"]: one["payload"]["comment_id"]
        for one in events
        if one["event_type"] in COMMENT_TEXT_EVENTS
    }
    bodies = present_bodies(said.values())
    return [{**event, "text": bodies.get(said.get(event["id"], ""), "")} for event in events]


def _comments_json(rows: Sequence[Any]) -> list[dict[str, Any]]:
    authors = user_refs.summaries(row.Comment.author_user_id for row in rows)
    return [
        comment_json(
            row.Comment,
            authors[row.Comment.author_user_id],
            reactions.reactions_in(row.reactions),
        )
        for row in rows
    ]


@operation(Access.WRITE)
def create_comment(actor: Actor, reference: str, *, body: str) -> Comment:
    """Comment on a ticket."""
    ticket = loaders.writable(actor, reference)
    text.filled_body(body)
    return add(actor, ticket, body)


# As in ``creating.py``, the insert bypasses the ORM.
_INSERT = Prepared(insert(cast("Table", Comment.__table__)))


def add(actor: Actor, ticket: Ticket, body: str) -> Comment:
    """Add a comment with a checked body to a locked ticket, and record it.

    The returned comment is not part of the session.
    """
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    values = {
        "id": identifier,
        "ticket_id": ticket.id,
        "author_user_id": actor.id,
        "body": body,
        "edit_history": [],
        "created_at": created_at,
        "updated_at": created_at,
        "deleted_at": None,
    }
    with pipeline():
        _INSERT.all(**values)
        searching.put(ticket)
        discussed(ticket.id, created_at)
        record(actor, "comment.created", loaders.target(ticket), comment_id=identifier, body=body)
    runaways.count_creation(actor, ticket.project_id)
    return Comment(**values)


@operation(Access.WRITE)
def update_comment(actor: Actor, comment_id: str, *, body: str | None = None) -> Comment:
    """Edit the actor's own comment; the previous body goes to ``edit_history``.

    Raises Forbidden ``not_author``, even for humans. An edit without a change records nothing.
    """
    comment, ticket = loaders.writable_comment(actor, comment_id)
    if comment.author_user_id != actor.user_id:
        raise Forbidden("not_author")
    if body is None or text.filled_body(body) == comment.body:
        return comment
    edit(actor, comment, ticket, body)
    return comment


@operation(Access.HUMAN)
def take_back_edit(actor: Actor, comment_id: str, *, body: str) -> Comment:
    """Restore an earlier text of anyone's comment: its author wrote that text.

    Raises Conflict ``invariant_violation`` for a text that the comment never had.
    """
    comment, ticket = loaders.writable_comment(actor, comment_id)
    if body not in [entry["body"] for entry in comment.edit_history]:
        raise Conflict("invariant_violation", messages.NEVER_HAD_THIS_TEXT)
    if body != comment.body:
        edit(actor, comment, ticket, body)
    return comment


def edit(actor: Actor, comment: Comment, ticket: Ticket, body: str) -> None:
    """Change a locked comment to a checked body, and record it."""
    previous = comment.body
    comment.edit_history = [*comment.edit_history, {"body": previous, "edited_at": now_ms()}]
    comment.body = body
    touch(comment)
    session.flush()
    searching.put(ticket)
    discussed(ticket.id, comment.updated_at)
    record(
        actor,
        "comment.updated",
        loaders.target(ticket),
        comment_id=comment.id,
        body=body,
        previous_body=previous,
    )


@operation(Access.WRITE)
def delete_comment(actor: Actor, comment_id: str) -> None:
    """Soft-delete a comment; the event keeps its body and history. Raises Forbidden."""
    comment, ticket = loaders.writable_comment(actor, comment_id)
    if not actor.is_human and comment.author_user_id != actor.user_id:
        raise Forbidden("not_author")
    comment.deleted_at = comment.updated_at = next_version(comment.updated_at)
    session.flush()
    searching.put(ticket)
    discussed(ticket.id, comment.updated_at)
    record(
        actor,
        "comment.deleted",
        loaders.target(ticket),
        comment_id=comment.id,
        author_user_id=comment.author_user_id,
        body=comment.body,
        edit_history=_history_json(comment),
    )
