"""Shapes of sticky notes in requests and answers."""

from marshmallow import Schema

from app.rest import examples
from app.rest.examples import TimestampOut, like
from app.rest.fields import Choice, CreateSchema, Identifier, StrictSchema, Text
from app.tickets.models import Priority, TicketType
from app.tickets.schemas import ASSIGNEE, PARENT, PRIORITY, TYPE

WORDS = "Ask who owns the old host"
BODY = like(WORDS, "Markdown, kept exactly as sent.", minLength=1, maxLength=65536)
COLOR = like(
    "#fde68a",
    "`#` and six hexadecimal digits; null: the default color.",
    pattern="^#[0-9A-Fa-f]{6}$",
)


class StickyNoteOut(Schema):
    """A sticky note."""

    id = Identifier(required=True, metadata=like(examples.NOTE))
    body = Text(required=True, metadata=like(WORDS))
    color = Text(required=True, allow_none=True, metadata=like("#fde68a"))
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    converted_to_ticket_id = Identifier(required=True, allow_none=True, metadata=like(None))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


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

    project_id = Identifier(metadata=like(examples.PROJECT, "Required for a personal note."))
    type = Choice(TicketType, metadata={**TYPE, "default": "story"})
    parent_ticket_id = Identifier(allow_none=True, metadata=PARENT)
    assignee_user_id = Identifier(allow_none=True, metadata=ASSIGNEE)
    priority = Choice(Priority, metadata={**PRIORITY, "default": "medium"})
    title = Text(metadata={"maxLength": 200, "description": "Default: the first line of the note."})
