"""Relations: typed edges between two tickets, which may belong to different projects."""

from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, case, or_, select

from app.audit.service import record
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.columns import Id, shared_alias
from app.database.locks import Lock, acquire
from app.database.pagination import Page, page
from app.database.session import AnySelect, Prepared, session
from app.database.versions import duplicate_is_conflict
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets import loaders, messages
from app.tickets.discussion import discussed
from app.tickets.models import RelationType, Ticket, TicketRelation
from app.tickets.read import in_live_projects, state_summary

Other = shared_alias(Ticket, "other")
TARGET_FIELD = "target_ticket_id"


def _acquire_relations() -> None:
    """Take the lock of all relations, before any lock of a ticket.

    A relation changes both of its tickets, and two requests could lock them in different order.
    """
    acquire(Lock.RELATIONS)


def relation_json(row: Any, ticket_id: str) -> dict[str, Any]:
    """A row of ``_rows``, seen from the ticket with this id."""
    return {
        "id": row.id,
        "type": row.type,
        "direction": "outgoing" if row.source_ticket_id == ticket_id else "incoming",
        "ticket": {
            "id": row.other_id,
            "display_id": row.other_display_id,
            "title": row.other_title,
            "type": row.other_type,
            "state": state_summary(row.state_id, row.state_name, row.state_category),
        },
        "source_ticket_id": row.source_ticket_id,
        "target_ticket_id": row.target_ticket_id,
        "created_by_user_id": row.created_by_user_id,
        "created_at": iso(row.created_at),
    }


@lru_cache
def _rows(has_allowlist: bool) -> AnySelect:
    """A ticket's relations to live tickets that the actor sees, by the values of ``_values``."""
    ticket_id: BindParameter[str] = bindparam("ticket_id", type_=Id())
    other_id = case(
        (TicketRelation.source_ticket_id == ticket_id, TicketRelation.target_ticket_id),
        else_=TicketRelation.source_ticket_id,
    )
    statement = (
        select(
            TicketRelation.id,
            TicketRelation.type,
            TicketRelation.source_ticket_id,
            TicketRelation.target_ticket_id,
            TicketRelation.created_by_user_id,
            TicketRelation.created_at,
            Other.id.label("other_id"),
            Other.display_id.label("other_display_id"),
            Other.title.label("other_title"),
            Other.type.label("other_type"),
            WorkflowState.id.label("state_id"),
            WorkflowState.name.label("state_name"),
            WorkflowState.category.label("state_category"),
        )
        .join(Other, Other.id == other_id)
        .join(Project, Project.id == Other.project_id)
        .outerjoin(WorkflowState, WorkflowState.id == Other.state_id)
        .where(
            or_(
                TicketRelation.source_ticket_id == ticket_id,
                TicketRelation.target_ticket_id == ticket_id,
            ),
            Other.deleted_at.is_(None),
            Project.deleted_at.is_(None),
        )
    )
    if has_allowlist:
        statement = statement.where(Other.project_id.in_(bindparam("allowlist", expanding=True)))
    return statement


def _values(actor: Actor, ticket_id: str) -> dict[str, Any]:
    allowlist = {"allowlist": sorted(actor.allowlist)} if actor.allowlist else {}
    return {"ticket_id": ticket_id, **allowlist}


@lru_cache
def _all(has_allowlist: bool) -> Prepared:
    return Prepared(_rows(has_allowlist).order_by(TicketRelation.created_at))


def of_ticket(actor: Actor, ticket_id: str) -> list[dict[str, Any]]:
    """All relations of a ticket, oldest first. The caller has checked access to the ticket."""
    rows = _all(bool(actor.allowlist)).all(**_values(actor, ticket_id))
    return [relation_json(row, ticket_id) for row in rows]


@operation(Access.READ)
def list_relations(actor: Actor, reference: str, *, limit: int, cursor: str | None) -> Page:
    """Incoming and outgoing relations, newest first."""
    ticket = loaders.visible(actor, reference)
    return page(
        _rows(bool(actor.allowlist)),
        kind="relation",
        sort=TicketRelation.created_at,
        id_column=TicketRelation.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [relation_json(row, ticket.id) for row in rows],
        values=_values(actor, ticket.id),
    )


@operation(Access.WRITE)
def create_relation(
    actor: Actor, reference: str, *, type: str, target_ticket_id: str
) -> tuple[Ticket, dict[str, Any]]:
    """Relate a ticket to another; return the ticket, and the relation as seen from it.

    Raises InvalidField, and Conflict ``duplicate_key`` or ``invariant_violation`` (a cycle).
    """
    _acquire_relations()
    source = loaders.writable(actor, reference)
    target = loaders.named_in_body(actor, target_ticket_id)
    if target is None:
        raise InvalidField(TARGET_FIELD, "not_found", messages.TICKET_NOT_FOUND)
    if target.id == source.id:
        raise InvalidField(TARGET_FIELD, "same_ticket", messages.RELATED_TO_ITSELF)
    _check_new(source, target, type)
    if type == RelationType.BLOCKS:
        _check_no_cycle(source, target)
    identifier = ids.new_id()
    relation = TicketRelation(
        id=identifier,
        type=str(type),
        source_ticket_id=source.id,
        target_ticket_id=target.id,
        created_by_user_id=actor.id,
        created_at=ids.created_ms(identifier),
    )
    session.add(relation)
    with duplicate_is_conflict(TARGET_FIELD, messages.RELATION_EXISTS):
        session.flush()
    _discussed(source, target, relation.created_at)
    _record(actor, "ticket.relation_added", source, relation, source, target)
    statement = _rows(bool(actor.allowlist)).where(TicketRelation.id == identifier)
    row = session.execute(statement, _values(actor, source.id)).one_or_none()
    if row is None:
        # The target was deleted in the meantime.
        raise InvalidField(TARGET_FIELD, "not_found", messages.TICKET_NOT_FOUND)
    return source, relation_json(row, source.id)


def _check_new(source: Ticket, target: Ticket, kind: str) -> None:
    same = and_(
        TicketRelation.source_ticket_id == source.id, TicketRelation.target_ticket_id == target.id
    )
    reverse = and_(
        TicketRelation.source_ticket_id == target.id, TicketRelation.target_ticket_id == source.id
    )
    either = or_(same, reverse) if kind == RelationType.RELATES_TO else same
    statement = select(TicketRelation.id).where(either, TicketRelation.type == str(kind))
    if session.scalar(statement) is not None:
        raise Conflict("duplicate_key", messages.RELATION_EXISTS, field=TARGET_FIELD)


def is_open_blocker(
    blocker: type[Ticket] = Ticket, state: type[WorkflowState] = WorkflowState
) -> ColumnElement[bool]:
    """The condition that a relation is that of an open, live blocker in a live project."""
    return and_(
        TicketRelation.type == RelationType.BLOCKS.value,
        blocker.deleted_at.is_(None),
        in_live_projects(blocker),
        state.category != StateCategory.DONE.value,
    )


def _check_no_cycle(source: Ticket, target: Ticket) -> None:
    """Raise Conflict if the target already blocks the source, directly or through others."""
    blocks = TicketRelation.type == RelationType.BLOCKS.value
    reached = (
        select(TicketRelation.target_ticket_id.label("id"))
        .where(TicketRelation.source_ticket_id == target.id, blocks)
        .cte("reached", recursive=True)
    )
    reached = reached.union(
        select(TicketRelation.target_ticket_id).where(
            TicketRelation.source_ticket_id == reached.c.id, blocks
        )
    )
    if session.scalar(select(reached.c.id).where(reached.c.id == source.id).limit(1)) is not None:
        raise Conflict("invariant_violation", messages.BLOCK_EACH_OTHER)


@operation(Access.WRITE)
def delete_relation(actor: Actor, reference: str, relation_id: str) -> None:
    """Remove a relation by either of its two tickets; raises NotFound."""
    _acquire_relations()
    ticket = loaders.writable(actor, reference)
    canonical = as_uuid(relation_id)
    relation = session.get(TicketRelation, canonical, with_for_update=True) if canonical else None
    if relation is None or ticket.id not in (relation.source_ticket_id, relation.target_ticket_id):
        raise NotFound("relation", relation_id)
    source = session.get_one(Ticket, relation.source_ticket_id)
    target = session.get_one(Ticket, relation.target_ticket_id)
    if not (actor.sees_project(source.project_id) and actor.sees_project(target.project_id)):
        raise NotFound("relation", relation_id)
    session.delete(relation)
    session.flush()
    _discussed(source, target, now_ms())
    _record(actor, "ticket.relation_removed", ticket, relation, source, target)


def _discussed(source: Ticket, target: Ticket, moment: int) -> None:
    """Record the time on both tickets, unless a reader of one may not know of the other."""
    if source.project_id != target.project_id:
        return
    for end_id in sorted((source.id, target.id)):
        discussed(end_id, moment)


def _record(
    actor: Actor,
    event_type: str,
    ticket: Ticket,
    relation: TicketRelation,
    source: Ticket,
    target: Ticket,
) -> None:
    record(
        actor,
        event_type,
        loaders.target(ticket),
        relation_id=relation.id,
        type=relation.type,
        source_ticket_id=source.id,
        target_ticket_id=target.id,
        source_display_id=source.display_id,
        target_display_id=target.display_id,
    )
