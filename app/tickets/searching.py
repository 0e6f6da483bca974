"""Tickets in the search index: what is indexed, and how a hit is shown."""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import bindparam, func, select

from app.database.session import Prepared
from app.database.sql_functions import Beginning
from app.projects.models import WorkflowState
from app.search import index
from app.search.documents import DocumentKind, SearchDoc
from app.search.sources import BODY_SHOWN, FoundComment, FoundDocument, HitSource
from app.tickets.models import Comment, Ticket
from app.tickets.read import state_summary

# The newest comments of a ticket are indexed, and only the beginning of each.
MAX_COMMENTS = 100
COMMENT_LENGTH = 8_192
COMMENTS_LENGTH = 65_536
# The text that an import adds at the end of a body.
_ORIGIN = "Imported from "
_ORIGIN_AT_END = re.compile(rf"(?:\A|\n\n---\n\n){_ORIGIN}[^\n]{{1,500}}\Z")


_SAID = Prepared(
    select(Beginning(Comment.body, COMMENT_LENGTH).label("body"))
    .where(Comment.ticket_id == bindparam("ticket_id"), Comment.deleted_at.is_(None))
    .order_by(Comment.created_at.desc(), Comment.id.desc())
    .limit(MAX_COMMENTS)
)


def document(ticket: Ticket | Any) -> SearchDoc:
    """The search document of a ticket with its comments."""
    said = indexed([row.body for row in _SAID.all(ticket_id=ticket.id)])
    return _document(ticket, said)


def _document(ticket: Ticket | Any, said: Sequence[str]) -> SearchDoc:
    return SearchDoc(
        kind=DocumentKind.TICKET,
        id=ticket.id,
        project_id=ticket.project_id,
        title=ticket.title,
        body=own_text(ticket.body),
        display_id=ticket.display_id,
        comments=tuple(said),
    )


def own_text(body: str) -> str:
    return _ORIGIN_AT_END.sub("", body) if _ORIGIN in body else body


_NUMBERED = (
    select(
        Comment.id,
        Comment.ticket_id,
        Beginning(Comment.body, COMMENT_LENGTH).label("body"),
        func.row_number()
        .over(
            partition_by=Comment.ticket_id,
            order_by=(Comment.created_at.desc(), Comment.id.desc()),
        )
        .label("number"),
    )
    .where(
        Comment.ticket_id.in_(bindparam("identifiers", expanding=True)),
        Comment.deleted_at.is_(None),
    )
    .subquery()
)
_COMMENTS = Prepared(
    select(_NUMBERED)
    .where(_NUMBERED.c.number <= MAX_COMMENTS)
    .order_by(_NUMBERED.c.ticket_id, _NUMBERED.c.number)
)


def _comments(identifiers: Sequence[str]) -> dict[str, list[FoundComment]]:
    """The comments that are indexed, newest first, by ticket."""
    comments: dict[str, list[FoundComment]] = {}
    rows = _COMMENTS.all(identifiers=list(identifiers))
    for ticket_id, group in groupby(rows, key=attrgetter("ticket_id")):
        own = list(group)
        bodies = indexed([row.body for row in own])
        comments[ticket_id] = [
            FoundComment(row.id, body) for row, body in zip(own, bodies, strict=False)
        ]
    return comments


def indexed(bodies: Sequence[str]) -> list[str]:
    """The indexed parts of a ticket's comments, newest first."""
    kept: list[str] = []
    room = COMMENTS_LENGTH
    for body in bodies[:MAX_COMMENTS]:
        if room <= 0:
            break
        kept.append(body[: min(COMMENT_LENGTH, room)])
        room -= min(len(body), COMMENT_LENGTH)
    return kept


def put(ticket: Ticket) -> None:
    """Index the ticket in the transaction of its change."""
    index.put(document(ticket))


def remove(ticket: Ticket) -> None:
    """Remove the ticket from the index in the transaction of its deletion."""
    index.remove(ticket.id)


_HITS = Prepared(
    select(
        Ticket.id,
        Ticket.project_id,
        Ticket.title,
        Beginning(Ticket.body, BODY_SHOWN).label("body"),
        Ticket.created_at,
        Ticket.updated_at,
        Ticket.display_id,
        Ticket.priority,
        Ticket.type,
        Ticket.state_id,
        WorkflowState.name,
        WorkflowState.category,
    )
    .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
    .where(Ticket.id.in_(bindparam("identifiers", expanding=True)), Ticket.deleted_at.is_(None)),
    planned_once=True,
)


def _found(identifiers: Sequence[str]) -> list[FoundDocument]:
    return [
        FoundDocument(
            id=row.id,
            project_id=row.project_id,
            title=row.title,
            body=own_text(row.body),
            created_at=row.created_at,
            updated_at=row.updated_at,
            details={
                "display_id": row.display_id,
                "state": state_summary(row.state_id, row.name, row.category),
                "priority": row.priority,
            },
            ticket_type=row.type,
        )
        for row in _HITS.all(identifiers=list(identifiers))
    ]


_DOCS = Prepared(
    select(Ticket.id, Ticket.project_id, Ticket.title, Ticket.body, Ticket.display_id).where(
        Ticket.id.in_(bindparam("identifiers", expanding=True)), Ticket.deleted_at.is_(None)
    )
)


def _docs(identifiers: Sequence[str]) -> list[SearchDoc]:
    comments = _comments(identifiers)
    rows = _DOCS.all(identifiers=list(identifiers))
    return [_document(row, [comment.body for comment in comments.get(row.id, ())]) for row in rows]


SOURCE = HitSource(
    kind=DocumentKind.TICKET,
    model=Ticket,
    document=document,
    found=_found,
    docs=_docs,
    comments=_comments,
)
