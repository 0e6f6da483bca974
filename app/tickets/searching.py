"""Tickets in the search index: what is indexed, and how a hit is shown."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select

from app.database.session import Prepared
from app.database.sql_functions import Beginning
from app.projects.models import WorkflowState
from app.search import index
from app.search.documents import DocumentKind, SearchDoc
from app.search.sources import BODY_SHOWN, FoundDocument, HitSource
from app.tickets.models import Ticket
from app.tickets.read import state_summary


def document(ticket: Ticket | Any) -> SearchDoc:
    """The search document of a ticket. Comments are not indexed."""
    return SearchDoc(
        kind=DocumentKind.TICKET,
        id=ticket.id,
        project_id=ticket.project_id,
        title=ticket.title,
        body=ticket.body,
        display_id=ticket.display_id,
    )


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
            body=row.body,
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
    return [document(row) for row in _DOCS.all(identifiers=list(identifiers))]


SOURCE = HitSource(
    kind=DocumentKind.TICKET, model=Ticket, document=document, found=_found, docs=_docs
)
