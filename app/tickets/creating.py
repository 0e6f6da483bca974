"""Creating tickets, alone or with children and relations, and which parent a ticket may have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlalchemy import Table, bindparam, insert, update

from app.accounts import user_refs
from app.audit.service import Target, record
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.errors import DomainError, Gone, InvalidField
from app.core.etag import etag
from app.database.session import Prepared, by_id, pipeline
from app.projects import labels
from app.projects import loaders as projects
from app.projects.loaders import SeenProject
from app.projects.models import Project, StateCategory
from app.search import index
from app.search.documents import DocumentKind, SearchDoc
from app.tickets import messages, rank, runaways, searching, sign_off
from app.tickets.models import Priority, Ticket, TicketType
from app.tickets.relations import TARGET_FIELD, create_relation
from app.tickets.ticket_labels import add_labels

PARENT_FIELD = "parent_ticket_id"

CHILD_TYPE = {TicketType.EPIC: TicketType.STORY, TicketType.STORY: TicketType.SUBTASK}
PARENT_TYPE = {child: parent for parent, child in CHILD_TYPE.items()}

MAX_CHILDREN = 20
# For one ticket.
MAX_RELATIONS = 20
# As ``target`` of a relation: a child in the same request, counted from 0.
_CHILD_TARGET = re.compile(r"children\[([0-9]{1,4})\]")


def checked_parent(project_id: str, kind: str, parent_ticket_id: str | None) -> Ticket | None:
    """The parent of a ticket of this type; raises InvalidField ``parent_ticket_id``."""
    if parent_ticket_id is None:
        if kind == TicketType.SUBTASK:
            raise InvalidField(PARENT_FIELD, "parent_required", messages.SUBTASK_NEEDS_STORY)
        return None
    if kind == TicketType.EPIC:
        raise InvalidField(PARENT_FIELD, "epic_has_no_parent", messages.EPIC_WITHOUT_PARENT)
    parent = by_id(Ticket, parent_ticket_id)
    if parent is None or parent.is_deleted or parent.project_id != project_id:
        raise InvalidField(PARENT_FIELD, "not_found", messages.PARENT_OF_OTHER_PROJECT)
    parent_type = PARENT_TYPE[TicketType(kind)]
    if parent.type != parent_type:
        raise InvalidField(PARENT_FIELD, "wrong_type", messages.parent_must_be(kind, parent_type))
    return parent


def check_values(fields: dict[str, Any]) -> None:
    """Check the values that can be checked in isolation; titles are stripped in place."""
    if "title" in fields:
        fields["title"] = text.line(fields["title"], "title", text.NAME_LENGTH)
    if "body" in fields:
        text.body(fields["body"])


# Agents call this verb most, and SQLite has one writer, so the insert bypasses the ORM.
_INSERT = Prepared(insert(cast("Table", Ticket.__table__)))


@dataclass(frozen=True, slots=True)
class CreatedTicket:
    id: str
    project_id: str
    display_id: str
    updated_at: int

    @property
    def etag(self) -> str:
        return etag(self.updated_at, self.id)


@operation(Access.WRITE)
def create_ticket(
    actor: Actor,
    into: str | SeenProject,
    /,
    *,
    title: str,
    type: str = TicketType.STORY,
    body: str = "",
    priority: str = Priority.MEDIUM,
    state_id: str | None = None,
    assignee_user_id: str | None = None,
    parent_ticket_id: str | None = None,
    label_ids: list[str] | None = None,
    due_date: str | None = None,
    reporter_user_id: str | None = None,
    timestamps: tuple[int, int] | None = None,
    comment_texts: Sequence[str] = (),
    discussed_at: int = 0,
) -> CreatedTicket:
    """Create a ticket with the next number of a project, which is an id or a project just read.

    Imports pass ``reporter_user_id``, and ``timestamps`` as (created_at, updated_at) in ms. For the
    comments that follow, they pass ``comment_texts``, for the index, and the time of the last one
    as ``discussed_at``. Raises InvalidField for an invalid value or reference, and Forbidden
    ``sign_off_required``.
    """
    project = projects.writable(actor, into)
    values: dict[str, Any] = {"title": title, "body": body}
    check_values(values)
    title = values["title"]
    parent = checked_parent(project.id, type, parent_ticket_id)
    state = (
        projects.state_in_body(project.id, state_id)
        if state_id
        else projects.first_state(project.id)
    )
    if state.category == StateCategory.DONE:
        sign_off.check_done(actor, project)
    if assignee_user_id is not None:
        assignee = user_refs.active_in_project(assignee_user_id, project.id, "assignee_user_id")
        assignee_user_id = assignee.id
    if reporter_user_id is not None:
        user_refs.active_in_project(reporter_user_id, project.id, "reporter_user_id")
    checked_label_ids = labels.ids_in_body(project.id, label_ids) if label_ids else []
    identifier = ids.new_id()
    id_time = ids.created_ms(identifier)
    created_at, updated_at = timestamps or (id_time, id_time)
    doc = SearchDoc(
        DocumentKind.TICKET,
        identifier,
        project.id,
        title,
        searching.own_text(body),
        comments=tuple(comment_texts),
    )
    terms = index.terms_of(doc)
    number = _next_number(project.id)
    display_id = f"{project.key}-{number}"
    recorded = {
        "display_id": display_id,
        "type": str(type),
        "title": title,
        "state_id": state.id,
        "priority": str(priority),
        "assignee_user_id": assignee_user_id,
        "parent_ticket_id": parent.id if parent else None,
    }
    with pipeline():
        _INSERT.all(
            **recorded,
            id=identifier,
            project_id=project.id,
            ticket_number=number,
            body=body,
            reporter_user_id=reporter_user_id or actor.id,
            due_date=due_date,
            rank=rank.initial(priority, number),
            created_at=created_at,
            updated_at=updated_at,
            deleted_at=None,
            discussed_at=discussed_at,
        )
        index.put_new(replace(doc, display_id=display_id), terms)
        target = Target("ticket", identifier, project_id=project.id, ticket_id=identifier)
        record(actor, "ticket.created", target, **recorded, label_ids=checked_label_ids)
    runaways.count_creation(actor, project.id)
    if checked_label_ids:
        add_labels(identifier, checked_label_ids)
    return CreatedTicket(identifier, project.id, display_id, updated_at)


_TAKE_NUMBER = Prepared(
    update(Project)
    .where(Project.id == bindparam("project_id"), Project.deleted_at.is_(None))
    .values(ticket_counter=Project.ticket_counter + 1)
    .returning(Project.ticket_counter)
)


def _next_number(project_id: str) -> int:
    """Take the next number in one statement; a rollback returns it.

    Raises Gone if the project was deleted after it was read.
    """
    row = _TAKE_NUMBER.first(project_id=project_id)
    if row is None:
        raise Gone("project", project_id)
    return int(row.ticket_counter)


@dataclass(frozen=True, slots=True)
class Breakdown:
    ticket: CreatedTicket
    children: list[CreatedTicket]


@contextmanager
def prefix_errors(place: str) -> Iterator[None]:
    """Put ``place`` before the field of an error that is raised inside: ``children[2].title``."""
    try:
        yield
    except DomainError as error:
        details = dict(error.details or {})
        details["field"] = f"{place}.{details['field']}" if "field" in details else place
        error.details = details
        error.message = messages.at_place(place, error.message)
        raise


@operation(Access.WRITE)
def create_breakdown(
    actor: Actor,
    into: str | SeenProject,
    /,
    *,
    children: Sequence[Mapping[str, Any]] = (),
    relations: Sequence[Mapping[str, str]] = (),
    **fields: Any,
) -> Breakdown:
    """Create a ticket, its children and the relations of both; fields as in ``create_ticket``.

    A child can also have ``relations``. The ``target`` of a relation is a ticket, or
    ``children[0]`` for the first child. Errors of a child or relation name its place.
    """
    _check_length("children", children, MAX_CHILDREN)
    ticket = create_ticket(actor, into, **fields)
    child_type = CHILD_TYPE.get(TicketType(fields.get("type", TicketType.STORY)))
    if children and child_type is None:
        raise InvalidField("children", "wrong_type", messages.SUBTASK_WITHOUT_CHILDREN)
    created = []
    for number, child in enumerate(children):
        own = {name: value for name, value in child.items() if name != "relations"}
        with prefix_errors(f"children[{number}]"):
            created.append(
                create_ticket(
                    actor, into, **{"type": child_type, **own, "parent_ticket_id": ticket.id}
                )
            )
    _relate(actor, ticket, relations, created)
    for number, (child, made) in enumerate(zip(children, created, strict=True)):
        with prefix_errors(f"children[{number}]"):
            _relate(actor, made, child.get("relations", ()), created)
    return Breakdown(ticket, created)


def _relate(
    actor: Actor,
    ticket: CreatedTicket,
    wanted: Sequence[Mapping[str, str]],
    children: Sequence[CreatedTicket],
) -> None:
    _check_length("relations", wanted, MAX_RELATIONS)
    for number, relation in enumerate(wanted):
        target = relation["target"]
        child = _CHILD_TARGET.fullmatch(target)
        with prefix_errors(f"relations[{number}]"):
            if child is not None:
                position = int(child[1])
                if position >= len(children):
                    raise InvalidField("target", "not_found", messages.no_such(target))
                target = children[position].id
            try:
                create_relation(actor, ticket.id, type=relation["type"], target_ticket_id=target)
            except DomainError as error:
                if error.details and error.details.get("field") == TARGET_FIELD:
                    error.details["field"] = "target"
                raise


def _check_length(field: str, given: Sequence[Any], limit: int) -> None:
    if len(given) > limit:
        raise InvalidField(field, "too_many", messages.too_many(limit, field))
