"""Shapes of sticky notes in requests and answers."""

from marshmallow import Schema

from app.rest.fields import Choice, CreateSchema, Identifier, StrictSchema, Text
from app.rest.shapes import Stamp
from app.tickets.models import Priority, TicketType

BODY = {"minLength": 1, "maxLength": 65536, "description": "Markdown, kept exactly as sent."}
COLOR = {"pattern": "^#[0-9A-Fa-f]{6}$"}


class StickyNoteOut(Schema):
    """A sticky note."""

    id = Identifier(required=True)
    body = Text(required=True)
    color = Text(required=True, allow_none=True)
    project_id = Identifier(required=True, allow_none=True)
    created_by_user_id = Identifier(required=True)
    converted_to_ticket_id = Identifier(required=True, allow_none=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class StickyNoteCreate(CreateSchema):
    """A new note."""

    body = Text(required=True, metadata=BODY)
    color = Text(allow_none=True, metadata=COLOR)


class StickyNotePatch(StrictSchema):
    """Changes to a note; its scope is fixed."""

    immutable = (
        "id",
        "project_id",
        "created_by_user_id",
        "converted_to_ticket_id",
        "created_at",
        "updated_at",
    )

    body = Text(metadata=BODY)
    color = Text(allow_none=True, metadata=COLOR)


class StickyNoteConversion(CreateSchema):
    """What the ticket made of a note is to be; its body is the note's."""

    project_id = Identifier(metadata={"description": "Required for a personal note."})
    type = Choice(TicketType, metadata={"default": "story"})
    parent_ticket_id = Identifier(allow_none=True)
    assignee_user_id = Identifier(allow_none=True)
    priority = Choice(Priority, metadata={"default": "medium"})
    title = Text(metadata={"maxLength": 200, "description": "The note's first line if absent."})
