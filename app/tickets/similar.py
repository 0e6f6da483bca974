"""Open tickets that resemble one that was just created, so that duplicates are noticed.

Titles are compared word by word, by stem. A rare word weighs more than a common one, and a word in
very many titles does not count, so the number of documents read from the index is bounded.
"""

from math import log
from typing import Any

from sqlalchemy import bindparam, select

from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.database.session import AnyRow, Prepared
from app.projects.models import Project, StateCategory, WorkflowState
from app.search import index
from app.search.any_word import COMMON, WORDS
from app.search.documents import MarkKind, project_mark
from app.search.expressions import All, Expression, Term, some
from app.search.words import is_unspaced, stem, words
from app.tickets import read
from app.tickets.models import Ticket

MAX_SIMILAR_TICKETS = 3
# The most tickets whose state and title are read.
MAX_CANDIDATES = 100
# The minimum share of a title's words, by weight, that a similar title has.
MIN_SIMILARITY = 0.5
# The weight of a word that no other title has; a word of one other title weighs 1.
UNSHARED_WEIGHT = 0.5

_OWN = Prepared(
    select(Ticket.id, Ticket.title, Ticket.project_id, Ticket.parent_ticket_id).where(
        Ticket.display_id == bindparam("display_id")
    )
)
_OPEN = Prepared(
    select(
        Ticket.id,
        Ticket.display_id,
        Ticket.project_id,
        Ticket.title,
        Ticket.type,
        Ticket.state_id,
        WorkflowState.name,
        WorkflowState.category,
    )
    .join(WorkflowState, WorkflowState.id == Ticket.state_id)
    .join(Project, Project.id == Ticket.project_id)
    .where(
        Ticket.id.in_(bindparam("ticket_ids", expanding=True)),
        Ticket.deleted_at.is_(None),
        Project.deleted_at.is_(None),
        WorkflowState.category != StateCategory.DONE,
        Ticket.parent_ticket_id.is_distinct_from(bindparam("ticket_id")),
    ),
    planned_once=True,
)


@operation(Access.READ)
def similar_tickets(actor: Actor, display_id: str) -> list[dict[str, Any]]:
    """The summaries of open tickets with a similar title that the actor sees, the closest first.

    Excludes the ticket itself, its parent and its children. Raises NotFound.
    """
    ticket = _OWN.first(display_id=display_id)
    if ticket is None or not actor.sees_project(ticket.project_id):
        raise NotFound("ticket", display_id)
    own = _stems(ticket.title)
    longest = sorted(own, key=lambda one: -len(one))[:WORDS]
    if not longest:
        return []
    # No filter by kind, so pages are found too: a term of most documents would take longest.
    terms: list[Expression] = [_in_title(one) for one in longest]
    if actor.allowlist:
        seen = some(Term(project_mark(one)) for one in sorted(actor.allowlist))
        terms = [All((one, seen)) for one in terms]
    lists = zip(longest, index.rare(terms, COMMON), strict=True)
    found = {one: ids for one, ids in lists if ids is not None}
    counts = {one: len(ids) for one, ids in found.items()}
    shared: dict[int, float] = {}
    for ids in found.values():
        for document_id in ids:
            shared[document_id] = shared.get(document_id, 0.0) + _weight(len(ids))
    best = sorted(shared, key=lambda document_id: (shared[document_id], document_id), reverse=True)
    indexed = {identifier for _, identifier in index.documents(best[:MAX_CANDIDATES]).values()}
    ticket_ids = indexed.union(index.pending_ids(MAX_CANDIDATES))
    rows = _OPEN.all(ticket_ids=list(ticket_ids), ticket_id=ticket.id) if ticket_ids else []
    others = [
        (row, _stems(row.title))
        for row in rows
        if row.id not in (ticket.id, ticket.parent_ticket_id) and actor.sees_project(row.project_id)
    ]
    for one in counts:
        pending = sum(one in stems for row, stems in others if row.id not in indexed)
        counts[one] += pending - (ticket.id in indexed)
    weights = {one: _weight(count) for one, count in counts.items()}
    ranked = []
    for row, stems in others:
        likeness = _likeness(own, stems, weights)
        if likeness:
            ranked.append(((likeness, row.project_id == ticket.project_id, row.id), row))
    ranked.sort(key=lambda one: one[0], reverse=True)
    return [_summary(row) for _, row in ranked[:MAX_SIMILAR_TICKETS]]


def _stems(title: str) -> set[str]:
    return {word if is_unspaced(word) else stem(word) for word in words(title)}


def _in_title(one: str) -> Term:
    return Term((MarkKind.TITLE_WORD if is_unspaced(one) else MarkKind.TITLE_STEM) + one)


def _weight(count: int) -> float:
    """The weight of a word in this number of other titles."""
    return 1 / (1 + log(count)) if count > 0 else UNSHARED_WEIGHT


def _likeness(own: set[str], other: set[str], weights: dict[str, float]) -> float:
    """The weight of the common words of two titles, less if they have many others; 0: too few."""
    common = own & other & weights.keys()
    weight = sum(weights[one] for one in common)
    if len(common) < min(2, len(own)) or weight < MIN_SIMILARITY * sum(weights.values()):
        return 0.0
    return weight * len(own & other) / len(own | other)


def _summary(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "display_id": row.display_id,
        "title": row.title,
        "type": row.type,
        "state": read.state_summary(row.state_id, row.name, row.category),
    }
