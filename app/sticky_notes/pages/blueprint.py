"""The blueprint of these pages, and how they show a note."""

from typing import Any

from flask import Blueprint
from sqlalchemy import select

from app.accounts import user_refs
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.session import session
from app.markdown import Profile, nowhere, render
from app.projects import loaders as projects
from app.projects.loaders import SeenProject
from app.sticky_notes.models import StickyNote
from app.sticky_notes.service import note_json
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


pages = Blueprint("sticky_notes_pages", __name__)

# The colours that people choose from; a bot may have given any other.
COLORS = (
    ("#facc15", "Yellow"),
    ("#fb923c", "Orange"),
    ("#f472b6", "Pink"),
    ("#a78bfa", "Violet"),
    ("#60a5fa", "Blue"),
    ("#2dd4bf", "Teal"),
    ("#4ade80", "Green"),
    ("#94a3b8", "Grey"),
)
# A longer note scrolls by itself.
LONG_LINES = 14
LONG_TEXT = 500


def wall_of(project: Any) -> str:
    """The address of a wall: a project's, or one's own."""
    return f"/projects/{project.key}/sticky-notes" if project else "/sticky-notes"


def shown(note: dict[str, Any]) -> dict[str, Any]:
    """A note with its text laid out."""
    body = note["body"]
    return {
        **note,
        "html": render(body, Profile.RESTRICTED, nowhere).html,
        "is_long": len(body) > LONG_TEXT or body.count("\n") >= LONG_LINES,
        "color_name": color_name(note["color"]),
    }


def color_name(color: str | None) -> str:
    """What a colour is called."""
    if color is None:
        return "No colour"
    return dict(COLORS).get(color.lower(), "Other colour")


def choices(current: str | None) -> list[tuple[str, str]]:
    """The colours to choose from, the note's own among them."""
    offered = [("", "No colour"), *COLORS]
    if current and current.lower() not in dict(COLORS):
        offered.append((current, "Other colour"))
    return offered


def coloured(notes: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The colours that a wall needs, for its colour sheet."""
    used = [{"color": color} for color, _ in COLORS]
    return used + [{"color": note["color"]} for note in notes if note["color"]]
