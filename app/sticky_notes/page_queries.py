"""What the walls of notes read, in a fixed number of statements."""

from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.session import session
from app.projects import loaders as projects
from app.projects.loaders import SeenProject
from app.sticky_notes.builders import note_json
from app.sticky_notes.models import StickyNote
from app.tickets.models import Ticket


def with_names(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Notes with their authors, and the tickets that they became."""
    authors = user_refs.summaries(note["created_by_user_id"] for note in notes)
    became = {note["converted_to_ticket_id"] for note in notes} - {None}
    tickets = {}
    if became:
        rows = session.execute(select(Ticket.id, Ticket.display_id).where(Ticket.id.in_(became)))
        tickets = {row.id: row.display_id for row in rows}
    return [
        {
            **note,
            "author": authors[note["created_by_user_id"]],
            "ticket": tickets.get(note["converted_to_ticket_id"]),
        }
        for note in notes
    ]


@operation(Access.READ)
def find(actor: Actor, note_id: str) -> tuple[dict[str, Any], SeenProject | None]:
    """A note that the actor can see, and its project; raises NotFound or Gone."""
    identifier = as_uuid(note_id)
    note = session.get(StickyNote, identifier) if identifier else None
    if note is None or (note.is_personal and note.created_by_user_id != actor.user_id):
        raise NotFound("sticky_note", note_id)
    project = projects.visible(actor, note.project_id) if note.project_id else None
    return with_names([note_json(note)])[0], project
