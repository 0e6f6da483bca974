"""The JSON of sticky notes."""

from typing import Any

from app.core.clock import iso
from app.sticky_notes.models import StickyNote


def note_json(note: StickyNote) -> dict[str, Any]:
    """A sticky note."""
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
