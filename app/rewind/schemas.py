"""REST forms of rewinds."""

from typing import Any

from marshmallow import Schema, ValidationError

from app.core.ids import as_uuid
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, like
from app.rest.fields import (
    Choice,
    Identifier,
    Items,
    PageQuery,
    Problem,
    QuerySchema,
    StrictSchema,
    Text,
    Timestamp,
    Whole,
)
from app.rewind import messages
from app.rewind.wording import NOUNS

SINCE = "Changes at this time or later; with `Z` or offset. Required unless requests are given."
UNTIL = "Changes before this time. Default: now; with requests, any time."
PROJECT = "Only changes in this project."
REQUESTS = "Only changes of these requests, such as those of an import; at most 50."
EVENT = "The event that wrote the value."
NAME = "Which of the event's values."


class QueryIds(Text):
    """UUIDs in a query, separated by commas."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        found = [as_uuid(one) for one in str(value).split(",")]
        if None in found:
            raise ValidationError([Problem(messages.NOT_UUIDS, "invalid_value")])
        return found


class RewindQuery(QuerySchema):
    """Which changes a rewind takes back."""

    since = Timestamp(round_up=True, metadata={"description": SINCE})
    until = Timestamp(round_up=True, metadata={"description": UNTIL})
    project_id = Identifier(metadata={"description": PROJECT})
    request_ids = QueryIds(metadata={"description": f"{REQUESTS} Separated by commas."})


class KeptQuery(PageQuery, RewindQuery):
    """Which changes a rewind takes back, and which page of what it keeps."""


class RewindBody(StrictSchema):
    """The scope of a rewind."""

    since = Timestamp(round_up=True, metadata=like(examples.MOMENT, SINCE))
    until = Timestamp(round_up=True, metadata={"description": UNTIL})
    project_id = Identifier(metadata={"description": PROJECT})
    request_ids = Items(Identifier(), metadata={"description": REQUESTS})


class RewindStepIn(RewindBody):
    """The scope of a rewind, and how far it is."""

    beyond = Identifier(
        allow_none=True,
        load_default=None,
        metadata={"description": "`beyond` of the step before. Default: the newest change."},
    )


class RewoundValueIn(RewindBody):
    """A value that a rewind kept."""

    event_id = Identifier(required=True, metadata=like(examples.EVENT, EVENT))
    name = Text(required=True, metadata=like("title", NAME))


class RewindSumOut(Schema):
    """How often a rewind does something."""

    count = Whole(required=True, metadata=like(12))
    text = Text(required=True, metadata=like("tickets deleted"))


class RewindSubjectOut(Schema):
    """A ticket, page, note or label of a rewind."""

    kind = Choice(NOUNS, required=True, metadata=like("ticket"))
    id = Identifier(required=True, metadata=like(examples.TICKET))
    name = Text(required=True, metadata=like("OPS-12", "The display id of a ticket."))
    title = Text(required=True, metadata=like("Import customers"))


class RewindTicketOut(RewindSubjectOut):
    """What a rewind does with a ticket, page, note or label."""

    put_back_count = Whole(required=True, metadata=like(3))
    kept_count = Whole(required=True, metadata=like(1))


class RewindPreviewOut(Schema):
    """What a rewind would do now; after a rewind, what is left to do."""

    since = TimestampOut(required=True)
    until = TimestampOut(required=True)
    event_count = Whole(
        required=True, metadata=like(340, "The events in the scope, counted up to 100,000.")
    )
    previewed_count = Whole(
        required=True, metadata=like(340, "The newest of them, up to 20,000, are previewed.")
    )
    put_back_count = Whole(
        required=True, metadata=like(310, "Values to revert; 0 once the rewind is done.")
    )
    kept_count = Whole(required=True, metadata=like(4, "Values that others changed since."))
    changes = Items(Nested(RewindSumOut), required=True)
    subjects = Items(
        Nested(RewindTicketOut), required=True, metadata={"description": "At most 200."}
    )


class RewindStepOut(Schema):
    """What one step of a rewind did."""

    until = TimestampOut(required=True, metadata={"description": "Send it with the next step."})
    event_count = Whole(required=True, metadata=like(50))
    put_back_count = Whole(required=True, metadata=like(48))
    kept_count = Whole(required=True, metadata=like(2))
    beyond = Identifier(
        required=True,
        allow_none=True,
        metadata=like(None, "Where the next step begins; null after the last."),
    )


class KeptValueOut(Schema):
    """A value that a rewind leaves as it is."""

    event_id = Identifier(required=True, metadata=like(examples.EVENT, EVENT))
    name = Text(required=True, metadata=like("title", NAME))
    subject = Nested(RewindSubjectOut, required=True)
    field = Text(required=True, metadata=like("Title", "The value's name in words."))
    now = Text(required=True, metadata=like("By Bo", "A long text is `a text`."))
    before = Text(required=True, metadata=like("A ticket"))
    reason = Text(required=True, metadata=like("Changed by Bo on 20 Nov 2026, 19:23:05 UTC."))
    changed_by_event_id = Identifier(
        required=True,
        allow_none=True,
        metadata=like(examples.EVENT, "The event by which others changed it since."),
    )
