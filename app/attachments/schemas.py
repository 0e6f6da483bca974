"""Shapes of files in requests and answers."""

from typing import Any

from marshmallow import Schema, ValidationError, fields

from app.accounts.schemas import UserSummaryOut
from app.attachments import messages
from app.http.multipart import ReceivedFile
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, like
from app.rest.fields import CreateSchema, Flag, Identifier, Problem, Text, Whole

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class FileField(fields.Field[Any]):
    """A part of a multipart form that has a filename."""

    default_error_messages: dict[str, Any] = {"required": Problem(messages.REQUIRED, "missing")}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> ReceivedFile:
        if not isinstance(value, ReceivedFile):
            raise ValidationError([Problem(messages.NOT_A_FILE, "invalid_type")])
        return value


class FileCreate(CreateSchema):
    """A multipart form with one file."""

    file = FileField(
        required=True,
        metadata={
            "description": "The file, with its name.",
            "type": "string",
            "format": "binary",
        },
    )


class FileOut(Schema):
    """A file on a ticket, a comment or a wiki page; its content is at `/files/{id}`."""

    id = Identifier(required=True, metadata=like(examples.FILE))
    name = Text(required=True, metadata=like("certificate.png", maxLength=200))
    media_type = Text(required=True, metadata=like("image/png", "The type, as detected."))
    size = Whole(required=True, metadata=like(48_213, "Bytes."))
    sha256 = Text(required=True, metadata=like(SHA256, "Of the content as it is stored."))
    is_image = Flag(
        required=True,
        metadata=like(True, "Whether it is a re-encoded image, shown inline, with a thumbnail."),
    )
    width = Whole(required=True, allow_none=True, metadata=like(1280, "Pixels of an image."))
    height = Whole(required=True, allow_none=True, metadata=like(720, "Pixels of an image."))
    ticket_id = Identifier(required=True, allow_none=True, metadata=like(examples.TICKET))
    comment_id = Identifier(
        required=True,
        allow_none=True,
        metadata=like(None, "The comment of the ticket that it is on, if it is on one."),
    )
    page_id = Identifier(required=True, allow_none=True, metadata=like(None))
    uploader_user_id = Identifier(required=True, metadata=like(examples.ADA))
    uploader = Nested(UserSummaryOut, required=True)
    created_at = TimestampOut(required=True)
