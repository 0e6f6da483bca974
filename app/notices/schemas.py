"""Shapes of notices."""

from marshmallow import Schema

from app.notices.service import ZONE_LENGTH, Frequency
from app.rest.examples import like
from app.rest.fields import Choice, StrictSchema, Text

FREQUENCY = like(
    Frequency.DAILY,
    "`messages`: an email for each ticket after 10 minutes unread. `daily`: one email at 8 in the "
    "morning of `zone`.",
)
ZONE = like("Europe/Berlin", "An IANA time zone. Empty: UTC.", maxLength=ZONE_LENGTH)


class NoticeChoiceOut(Schema):
    """How often mail about unread news comes."""

    frequency = Choice(Frequency, required=True, metadata=like(Frequency.DAILY))
    zone = Text(required=True, metadata=like("Europe/Berlin"))


class NoticeChoicePatch(StrictSchema):
    """Changes to how often mail about unread news comes."""

    frequency = Choice(Frequency, metadata=FREQUENCY)
    zone = Text(metadata=ZONE)
