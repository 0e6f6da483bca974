"""Shapes of webhooks and deliveries."""

from marshmallow import Schema

from app.rest.fields import (
    Choice,
    CreateSchema,
    Flag,
    Identifier,
    Items,
    PageQuery,
    QueryFlag,
    QueryInteger,
    QuerySchema,
    StrictSchema,
    Text,
    Whole,
)
from app.rest.moments import QueryMoment
from app.rest.shapes import Stamp
from app.webhooks.models import DeliveryStatus

URL = {"maxLength": 2048, "example": "https://example.org/hook"}
SECRET = {"minLength": 16, "maxLength": 1024, "description": "The HMAC key; 16 bytes or more."}
TYPES = {"minItems": 1, "description": "`*`, event types, or prefixes such as `ticket.*`."}


class WebhookOut(Schema):
    """A subscription to events."""

    id = Identifier(required=True)
    url = Text(required=True)
    event_types = Items(Text(), required=True)
    is_active = Flag(required=True)
    created_by_user_id = Identifier(required=True)
    last_success_at = Stamp(required=True, allow_none=True)
    last_failure_at = Stamp(required=True, allow_none=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class WebhookWithSecretOut(WebhookOut):
    """A webhook in the answer to its creation, the only one that shows the secret."""

    secret = Text(required=True)


class PatchedWebhookOut(WebhookOut):
    """A changed webhook; its secret where the request rotated it."""

    secret = Text(metadata={"description": "Only after a rotation."})


class WebhookCreate(CreateSchema):
    """A new webhook."""

    url = Text(required=True, metadata=URL)
    secret = Text(required=True, metadata=SECRET)
    event_types = Items(Text(), required=True, metadata=TYPES)
    is_active = Flag(metadata={"default": True})


class WebhookPatch(StrictSchema):
    """Changes to a webhook."""

    immutable = (
        "id",
        "created_by_user_id",
        "last_success_at",
        "last_failure_at",
        "created_at",
        "updated_at",
    )

    url = Text(metadata=URL)
    event_types = Items(Text(), metadata=TYPES)
    is_active = Flag()
    secret = Text(metadata={**SECRET, "description": "With `rotate_secret=true` only."})


class DeliveryRetry(CreateSchema):
    """A new attempt; there is nothing to choose."""


class WebhookPatchQuery(QuerySchema):
    """Whether a change replaces the secret."""

    rotate_secret = QueryFlag(
        load_default=False,
        metadata={"description": "Replace the secret by the one in the body.", "default": False},
    )


class DeliveryOut(Schema):
    """One attempt to deliver an event."""

    id = Identifier(required=True)
    webhook_id = Identifier(required=True)
    event_type = Text(required=True)
    attempt = Whole(required=True, metadata={"minimum": 1, "maximum": 4})
    status = Choice(DeliveryStatus, required=True)
    http_status = Whole(required=True, allow_none=True)
    duration_ms = Whole(required=True)
    error_message = Text(required=True, allow_none=True)
    delivered_at = Stamp(required=True, allow_none=True)
    next_retry_at = Stamp(required=True, allow_none=True)
    request_id = Identifier(required=True, allow_none=True)
    created_at = Stamp(required=True)


class DeliveryQuery(PageQuery):
    """The filters of the delivery log."""

    status = Choice(DeliveryStatus)
    since = QueryMoment(round_up=True, metadata={"description": "Attempts of this time or later."})
    attempt_min = QueryInteger(metadata={"description": "Attempts of this number or a later one."})
