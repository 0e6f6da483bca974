"""Importing a ticket from another tracker, with its comments, their times and authors."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Table, insert, select

from app.audit.service import Target, record
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.database.session import AnyRow, Prepared, pipeline, session
from app.projects.loaders import SeenProject
from app.tickets import comments as discussion
from app.tickets import creating, loaders, searching, service
from app.tickets.creating import CreatedTicket
from app.tickets.models import Comment, ImportedIssue, Ticket

_HISTORY = re.compile(r"\*\*(History in [A-Z][A-Za-z]{1,20})\*\*: ([^\n]{1,100})\n\n(?=- )")
_INSERT = Prepared(insert(cast("Table", Comment.__table__)))


@dataclass(frozen=True, slots=True)
class ImportedComment:
    """A comment with its original time (ms) and, if the author is a person here, the author."""

    body: str
    written_at: int | None = None
    author_user_id: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedTicket:
    """A ticket, and the ids of its comments in their order."""

    ticket: CreatedTicket
    comment_ids: tuple[str, ...]


def history_text(tracker: str, about: str, lines: Sequence[str]) -> str:
    """A comment on a ticket's history in another tracker; ``about`` is its extent and time."""
    return f"**History in {tracker}**: {about}\n\n" + "\n".join(f"- {line}" for line in lines)


def history_of(body: str) -> tuple[str, str] | None:
    """The title and the list of a text made by ``history_text``; None for any other text.

    Anybody can write such a text, so it does not prove that a comment was imported.
    """
    match = _HISTORY.match(body)
    return (f"{match[1]}: {match[2]}", body[match.end() :]) if match else None


@operation(Access.HUMAN)
def import_ticket(
    actor: Actor,
    into: str | SeenProject,
    /,
    *,
    comments: Sequence[ImportedComment] = (),
    **fields: Any,
) -> ImportedTicket:
    """Create a ticket with its comments, and an event for each; fields as in ``create_ticket``.

    The authors of comments must be known to see the project. Comments are written before anyone
    else can see the ticket, so it is indexed once and not locked.
    """
    ordered = []
    for comment in comments:
        identifier = ids.new_id()
        ordered.append((comment.written_at or ids.created_ms(identifier), identifier, comment))
    newest_first = sorted(ordered, key=lambda one: one[:2], reverse=True)
    ticket = creating.create_ticket(
        actor,
        into,
        comment_texts=searching.indexed([comment.body for _, _, comment in newest_first]),
        discussed_at=newest_first[0][0] if newest_first else 0,
        **fields,
    )
    target = Target("ticket", ticket.id, project_id=ticket.project_id, ticket_id=ticket.id)
    with pipeline():
        for created_at, identifier, comment in ordered:
            _INSERT.all(
                id=identifier,
                ticket_id=ticket.id,
                author_user_id=comment.author_user_id or actor.id,
                body=text.filled_body(comment.body),
                edit_history=[],
                created_at=created_at,
                updated_at=created_at,
                deleted_at=None,
            )
            record(actor, "comment.created", target, comment_id=identifier, body=comment.body)
    return ImportedTicket(ticket, tuple(identifier for _, identifier, _ in ordered))


def imported_as(external_id: str, project_ids: Sequence[str]) -> Sequence[AnyRow]:
    """The number and title of the tickets that an issue became, by its id in the other tracker.

    All of it may be typed in upper or in lower case. Needs a unit of work.
    """
    typed = {external_id, external_id.lower(), external_id.upper()}
    return session.execute(
        select(Ticket.display_id, Ticket.title)
        .join(ImportedIssue, ImportedIssue.ticket_id == Ticket.id)
        .where(
            ImportedIssue.project_id.in_(project_ids),
            ImportedIssue.external_id.in_(typed),
            Ticket.deleted_at.is_(None),
        )
        .order_by(Ticket.id)
    ).all()


@operation(Access.HUMAN)
def rewrite_texts(
    actor: Actor, project_id: str, external_id: str, rewritten: Callable[[str], str]
) -> list[tuple[str | None, str]]:
    """Change the texts of an imported ticket and of all its comments, to show files imported later.

    Returns the texts, oldest first: that of the ticket, then those of comments with their ids.
    Raises InvalidField for a text that gets too long, NotFound, Gone, Forbidden.
    """
    found = select(ImportedIssue.ticket_id).where(
        ImportedIssue.project_id == project_id, ImportedIssue.external_id == external_id
    )
    ticket_id = session.scalar(found)
    if ticket_id is None:
        raise NotFound("ticket", external_id)
    # Comments are locked before their ticket, in the same order as for an edit.
    statement = select(Comment).where(Comment.ticket_id == ticket_id, Comment.deleted_at.is_(None))
    locked = session.scalars(statement.order_by(Comment.id).with_for_update(key_share=True)).all()
    ticket = loaders.writable(actor, ticket_id)
    body = rewritten(ticket.body)
    service.update_ticket(actor, ticket, body=body)
    texts: list[tuple[str | None, str]] = [(None, body)]
    for comment in sorted(locked, key=lambda one: (one.created_at, one.id)):
        said = rewritten(comment.body)
        if said != comment.body:
            discussion.edit(actor, comment, ticket, text.filled_body(said))
        texts.append((comment.id, said))
    return texts
