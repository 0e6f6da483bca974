"""Shapes of the links of tickets, in requests and answers."""

from marshmallow import Schema

from app.rest import examples
from app.rest.examples import TimestampOut, like
from app.rest.fields import Choice, CreateSchema, Identifier, Text
from app.tickets.models import LinkChecks, LinkKind, LinkState

LINK_URL = like(
    "https://github.com/docket/app/pull/5",
    "An https address, 2,048 characters at most.",
    minLength=9,
    maxLength=2048,
)
LINK_TITLE = like("docket/app#5", "Default: made from the address.", minLength=1, maxLength=200)
LINK_KIND = like(LinkKind.PULL_REQUEST, "What it leads to. Default: read off the address.")


class LinkOut(Schema):
    """An address where work on the ticket is.

    An integration with a code host keeps `title`, `state`, `checks` and `author` up to date.
    """

    id = Identifier(required=True, metadata=like(examples.LINK))
    ticket_id = Identifier(required=True, metadata=like(examples.TICKET))
    url = Text(required=True, metadata=LINK_URL)
    title = Text(required=True, metadata=like("docket/app#5"))
    kind = Choice(LinkKind, required=True, metadata=like(LinkKind.PULL_REQUEST))
    state = Choice(LinkState, required=True, allow_none=True, metadata=like(LinkState.OPEN))
    checks = Choice(LinkChecks, required=True, allow_none=True, metadata=like(LinkChecks.PASSING))
    author = Text(required=True, allow_none=True, metadata=like("ada"))
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class LinkCreate(CreateSchema):
    """A new link of the ticket in the path."""

    url = Text(required=True, metadata=LINK_URL)
    title = Text(metadata=LINK_TITLE)
    kind = Choice(LinkKind, metadata=LINK_KIND)
