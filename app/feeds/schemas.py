"""Shapes of feeds."""

from marshmallow import Schema

from app.feeds.models import FeedKind
from app.rest import examples
from app.rest.examples import TimestampOut, like
from app.rest.fields import Choice, CreateSchema, Identifier, Text

KIND = like(FeedKind.CALENDAR, "`calendar`: due dates. `activity`: what happens in a project.")
PROJECT = like(
    examples.PROJECT,
    "The project. Without it, a calendar has what is assigned to you in all projects.",
)
ADDRESS = "https://docket.example.org/feed/TOKEN/calendar.ics"


class FeedOut(Schema):
    """A feed of one's own, without its address."""

    id = Identifier(required=True, metadata=like(examples.FEED))
    kind = Choice(FeedKind, required=True, metadata=like(FeedKind.CALENDAR))
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))
    project_key = Text(required=True, allow_none=True, metadata=like("OPS"))
    created_at = TimestampOut(required=True)


class FeedWithAddressOut(FeedOut):
    """A feed in the answer that shows its address, whose token is stored hashed."""

    address = Text(required=True, metadata=like(ADDRESS, "Anyone who has it can read the feed."))


class FeedCreate(CreateSchema):
    """A new feed."""

    kind = Choice(FeedKind, required=True, metadata=KIND)
    project_id = Identifier(allow_none=True, metadata=PROJECT)
