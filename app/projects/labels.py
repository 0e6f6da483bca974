"""Verbs of labels, a project's tags."""

import zlib
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import bindparam, select

from app.audit.event_types import UNDONE_AT_ONCE
from app.audit.service import Target, record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import Prepared, session
from app.database.versions import add_versioned, apply_changes, duplicate_is_conflict
from app.projects import loaders, messages, ticket_rows
from app.projects.builders import label_json
from app.projects.models import Label

# The color of a label that is created through REST without one.
DEFAULT_COLOR = "#64748b"
PALETTE = ("#d1242f", "#bc4c00", "#9a6700", "#1a7f37", "#0b7f8e", "#0969da", "#8250df", "#bf3989")
# The most tickets in the event of a deletion: as many as one undo can change.
MAX_NAMED_TICKETS = UNDONE_AT_ONCE
# A statement takes all of them as parameters.
MAX_LABELS_PER_TICKET = 1000


def _target(label: Label) -> Target:
    return Target("label", label.id, project_id=label.project_id)


def named_in_body(
    project_id: str, label_ids: Sequence[str], field: str = "label_ids"
) -> list[Label]:
    """The labels of this project that a request names, each once; raises InvalidField."""
    unique, canonical = _named(label_ids, field)
    statement = select(Label).where(Label.id.in_(canonical), Label.project_id == project_id)
    labels = {label.id: label for label in session.scalars(statement)} if canonical else {}
    _check_found(labels, unique, field)
    return [labels[label_id] for label_id in unique]


_IDS = Prepared(
    select(Label.id).where(
        Label.id.in_(bindparam("label_ids", expanding=True)),
        Label.project_id == bindparam("project_id"),
    ),
    planned_once=True,
)


def ids_in_body(project_id: str, label_ids: Sequence[str]) -> list[str]:
    """Like ``named_in_body``, for verbs that need only the ids."""
    unique, canonical = _named(label_ids, "label_ids")
    rows = _IDS.all(label_ids=canonical, project_id=project_id) if canonical else []
    _check_found({row.id for row in rows}, unique, "label_ids")
    return unique


def _named(label_ids: Sequence[str], field: str) -> tuple[list[str], list[str]]:
    """Each id once, and those of them that have the form of an id."""
    unique = text.unique(label_ids)
    if len(unique) > MAX_LABELS_PER_TICKET:
        raise InvalidField(field, "too_many", messages.too_many_labels(MAX_LABELS_PER_TICKET))
    return unique, [label_id for label_id in unique if as_uuid(label_id) == label_id]


def _check_found(found: Collection[str], unique: Sequence[str], field: str) -> None:
    if len(found) != len(unique):
        raise InvalidField(field, "not_found", messages.not_labels_of_project(field))


def lock_label(label: Label) -> None:
    """Lock the label, so that no other ticket gets it until this transaction ends."""
    session.execute(select(Label.id).where(Label.id == label.id).with_for_update())


def by_name(project_id: str) -> Sequence[Label]:
    statement = select(Label).where(Label.project_id == project_id)
    return session.scalars(statement.order_by(Label.name_key, Label.id)).all()


@operation(Access.READ)
def list_labels(actor: Actor, project_id: str, *, limit: int, cursor: str | None) -> Page:
    """The project's labels, newest first."""
    project = loaders.visible(actor, project_id)
    return page(
        select(Label, Label.id, Label.created_at).where(Label.project_id == project.id),
        kind="label",
        sort=Label.created_at,
        id_column=Label.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [label_json(row.Label) for row in rows],
    )


def color_of(name: str) -> str:
    """The default color of a label: the same in every project."""
    return PALETTE[zlib.crc32(text.name_key(name).encode()) % len(PALETTE)]


@operation(Access.HUMAN)
def create_label(actor: Actor, project_id: str, *, name: str, color: str | None = None) -> Label:
    """Create a label; raises InvalidField, and Conflict ``duplicate_key``."""
    project = loaders.writable(actor, project_id)
    name = text.line(name, "name")
    color = color_of(name) if color is None else text.color(color)
    loaders.check_name_free(Label, project, name, "label")
    label = add_versioned(
        Label, project_id=project.id, name=name, name_key=text.name_key(name), color=color
    )
    with duplicate_is_conflict("name", loaders.name_in_use("label", name)):
        session.flush()
    record(actor, "label.created", _target(label), label_id=label.id, name=name, color=color)
    return label


def named(actor: Actor, project_id: str, name: str) -> Label:
    """The label with this name, created if it does not exist; raises InvalidField."""
    key = text.name_key(text.line(name, "name"))
    found = session.scalars(
        select(Label).where(Label.project_id == project_id, Label.name_key == key)
    ).first()
    return found or create_label(actor, project_id, name=name)


@operation(Access.HUMAN)
def update_label(actor: Actor, /, project_id: str, label_id: str, **fields: Any) -> Label:
    """Rename or recolor a label; raises InvalidField, and Conflict ``duplicate_key``."""
    project = loaders.writable(actor, project_id, lock=True)
    label = loaders.part_of(Label, project, label_id, "label")
    if "name" in fields:
        fields["name"] = text.line(fields["name"], "name")
        loaders.check_name_free(Label, project, fields["name"], "label", but=label.id)
    if "color" in fields:
        text.color(fields["color"])
    changed = apply_changes(label, fields)
    if changed:
        label.name_key = text.name_key(label.name)
        with duplicate_is_conflict("name", loaders.name_in_use("label", label.name)):
            session.flush()
        record(actor, "label.updated", _target(label), label_id=label.id, changes=changed)
    return label


@operation(Access.HUMAN)
def delete_label(actor: Actor, project_id: str, label_id: str) -> bool:
    """Delete a label, also from its tickets; returns whether the event names all of them.

    Only then can the deletion be undone.
    """
    project = loaders.writable(actor, project_id)
    label = loaders.part_of(Label, project, label_id, "label")
    # Wait for transactions that give the label to a ticket, and block new ones.
    lock_label(label)
    ticket_rows.touch_labelled(label.id)
    carried = ticket_rows.labeled(label.id, MAX_NAMED_TICKETS + 1)
    names_all = len(carried) <= MAX_NAMED_TICKETS
    session.delete(label)
    session.flush()
    record(
        actor,
        "label.deleted",
        _target(label),
        label_id=label.id,
        name=label.name,
        color=label.color,
        ticket_ids=carried if names_all else None,
    )
    return names_all
