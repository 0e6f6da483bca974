"""Verbs of sticky notes. Another person's personal note counts as missing for every verb."""

from typing import Any

from sqlalchemy import select

from app.audit.service import Target, record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.errors import NotFound
from app.core.ids import as_uuid, created_ms
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import session
from app.database.versions import add_versioned, apply_changes
from app.projects import loaders as projects
from app.sticky_notes.models import StickyNote

CONVERTED = "converted_to_ticket_id"


def note_json(note: StickyNote) -> dict[str, Any]:
    return {
        "id": note.id,
        "body": note.body,
        "color": note.color,
        "project_id": note.project_id,
        "created_by_user_id": note.created_by_user_id,
        "converted_to_ticket_id": note.converted_to_ticket_id,
        "created_at": iso(note.created_at),
        "updated_at": iso(note.updated_at),
    }


def writable(actor: Actor, note_id: str) -> StickyNote:
    """The note, locked for a change; raises NotFound, OutsideAllowlist or Gone."""
    identifier = as_uuid(note_id)
    note = None
    if identifier is not None:
        statement = select(StickyNote).where(StickyNote.id == identifier)
        note = session.scalars(statement.with_for_update(key_share=True)).first()
    if note is None or (note.is_personal and note.created_by_user_id != actor.user_id):
        raise NotFound("sticky_note", note_id)
    if note.project_id is not None:
        projects.writable(actor, note.project_id)
    return note


def _target(note: StickyNote) -> Target:
    return Target("sticky_note", note.id, project_id=note.project_id, is_personal=note.is_personal)


@operation(Access.READ)
def list_personal(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """The actor's personal notes, newest first; bots have none."""
    return _page(
        select(StickyNote).where(
            StickyNote.project_id.is_(None), StickyNote.created_by_user_id == actor.id
        ),
        limit,
        cursor,
    )


@operation(Access.READ)
def list_of_project(actor: Actor, project_id: str, *, limit: int, cursor: str | None) -> Page:
    """A project's notes, newest first."""
    project = projects.visible(actor, project_id)
    return _page(select(StickyNote).where(StickyNote.project_id == project.id), limit, cursor)


def _page(statement: Any, limit: int, cursor: str | None) -> Page:
    return paginate(
        statement.add_columns(StickyNote.id, StickyNote.created_at),
        kind="sticky_note",
        sort=StickyNote.created_at,
        id_column=StickyNote.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [note_json(row.StickyNote) for row in rows],
    )


@operation(Access.HUMAN, reason="bots_have_no_personal_notes")
def create_personal(actor: Actor, *, body: str, color: str | None = None) -> StickyNote:
    """Create a note that only its creator sees; raises InvalidField."""
    return _create(actor, None, body, color)


@operation(Access.WRITE)
def create_in_project(
    actor: Actor, project_id: str, *, body: str, color: str | None = None
) -> StickyNote:
    """Create a note on a project's wall; raises InvalidField."""
    project = projects.writable(actor, project_id)
    return _create(actor, project.id, body, color)


def _create(actor: Actor, project_id: str | None, body: str, color: str | None) -> StickyNote:
    text.filled_body(body)
    if color is not None:
        text.color(color)
    note = add_versioned(
        StickyNote, project_id=project_id, body=body, color=color, created_by_user_id=actor.id
    )
    session.flush()
    record(actor, "sticky_note.created", _target(note), **_contents(note))
    return note


def _contents(note: StickyNote) -> dict[str, Any]:
    """The payload of an event; empty for a personal note, as all humans read events."""
    return {} if note.is_personal else {"body": note.body, "color": note.color}


@operation(Access.WRITE)
def update_note(actor: Actor, note_id: str, /, **fields: Any) -> StickyNote:
    """Change body or color; without a difference, no event is recorded. Raises InvalidField."""
    note = writable(actor, note_id)
    if "body" in fields:
        text.filled_body(fields["body"])
    if fields.get("color") is not None:
        text.color(fields["color"])
    changed = apply_changes(note, fields)
    if changed:
        session.flush()
        payload: dict[str, Any] = {"fields": sorted(changed)}
        if not note.is_personal:
            payload["changes"] = changed
        record(actor, "sticky_note.updated", _target(note), **payload)
    return note


@operation(Access.WRITE)
def delete_note(actor: Actor, note_id: str) -> None:
    note = writable(actor, note_id)
    session.delete(note)
    session.flush()
    record(actor, "sticky_note.deleted", _target(note), **_contents(note))


@operation(Access.HUMAN)
def put_back_note(
    actor: Actor,
    note_id: str,
    *,
    project_id: str,
    body: str,
    color: str | None,
    created_by_user_id: str,
    converted_to_ticket_id: str | None,
) -> StickyNote:
    """Create a deleted note of a project again, with its id and creator; raises Gone."""
    projects.writable(actor, project_id)
    note = StickyNote(
        id=note_id,
        project_id=project_id,
        body=body,
        color=color,
        created_by_user_id=created_by_user_id,
        converted_to_ticket_id=converted_to_ticket_id,
        created_at=created_ms(note_id),
        updated_at=now_ms(),
    )
    session.add(note)
    session.flush()
    record(actor, "sticky_note.created", _target(note), **_contents(note))
    return note


@operation(Access.HUMAN)
def take_back_conversion(actor: Actor, note_id: str) -> StickyNote:
    """Make a note unconverted again; its ticket stays. Raises NotFound or Gone."""
    note = writable(actor, note_id)
    changed = apply_changes(note, {CONVERTED: None})
    if changed:
        session.flush()
        record(actor, "sticky_note.updated", _target(note), fields=[CONVERTED], changes=changed)
    return note
