"""Shapes of webhooks and deliveries."""

from marshmallow import Schema

from app.rest import examples
from app.rest.examples import TimestampOut, like
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
    Timestamp,
    Whole,
)
from app.webhooks.models import DeliveryStatus, WebhookForm

URL = like("https://example.org/hook", "Where events are sent. Must be https.", maxLength=2048)
KEY = "a long shared secret"
SECRET = like(KEY, "The HMAC key; 16 bytes or more.", minLength=16, maxLength=1024)
TYPES = like(["ticket.*"], "`*`, event types, or prefixes such as `ticket.*`.", minItems=1)
ACTIVE = like(True, "Whether events are sent.")
FORM = like(
    WebhookForm.JSON,
    "What is sent: the event as JSON, or a message for a chat. For `matrix`, the URL is that of a "
    "room's messages and the secret is an access token. It cannot be changed.",
)
PROJECT_IDS = like(
    [examples.PROJECT], "Send only events of these projects; empty sends all events."
)


class WebhookOut(Schema):
    """A subscription to events."""

    id = Identifier(required=True, metadata=like(examples.WEBHOOK))
    url = Text(required=True, metadata=like("https://example.org/hook"))
    event_types = Items(Text(), required=True, metadata=like(["ticket.*"]))
    is_active = Flag(required=True, metadata=like(True))
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    last_success_at = TimestampOut(required=True, allow_none=True)
    last_failure_at = TimestampOut(required=True, allow_none=True)
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)
    form = Choice(WebhookForm, required=True, metadata=like(WebhookForm.JSON))
    project_ids = Items(Identifier(), required=True, metadata=like([examples.PROJECT]))


class WebhookWithSecretOut(WebhookOut):
    """A webhook in the answer to its creation, the only one that shows the secret."""

    secret = Text(required=True, metadata=like(KEY))


class PatchedWebhookOut(WebhookOut):
    """A changed webhook; its secret where the request rotated it."""

    secret = Text(metadata={"description": "Only in the response to a rotation."})


class WebhookCreate(CreateSchema):
    """A new webhook."""

    url = Text(required=True, metadata=URL)
    secret = Text(required=True, metadata=SECRET)
    event_types = Items(Text(), required=True, metadata=TYPES)
    is_active = Flag(metadata={**ACTIVE, "default": True})
    form = Choice(WebhookForm, metadata={**FORM, "default": WebhookForm.JSON.value})
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)


class WebhookPatch(StrictSchema):
    """Changes to a webhook."""

    immutable = (
        "id",
        "created_by_user_id",
        "last_success_at",
        "last_failure_at",
        "created_at",
        "updated_at",
        "form",
    )

    url = Text(metadata=URL)
    event_types = Items(Text(), metadata=TYPES)
    is_active = Flag(metadata=ACTIVE)
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    secret = Text(
        metadata={
            "minLength": 16,
            "maxLength": 1024,
            "description": "With `rotate_secret=true` only.",
        }
    )


class DeliveryRetry(CreateSchema):
    """A new attempt; there is nothing to choose."""


class WebhookPatchQuery(QuerySchema):
    """Whether a change replaces the secret."""

    rotate_secret = QueryFlag(
        load_default=False,
        metadata={"description": "Replace the secret with the one in the body.", "default": False},
    )


class DeliveryOut(Schema):
    """One attempt to deliver an event."""

    id = Identifier(required=True, metadata=like(examples.DELIVERY))
    webhook_id = Identifier(required=True, metadata=like(examples.WEBHOOK))
    event_type = Text(required=True, metadata=like("ticket.created"))
    attempt = Whole(required=True, metadata=like(1, minimum=1, maximum=4))
    status = Choice(DeliveryStatus, required=True, metadata=like(DeliveryStatus.SUCCEEDED))
    http_status = Whole(required=True, allow_none=True, metadata=like(204))
    duration_ms = Whole(required=True, metadata=like(87))
    error_message = Text(required=True, allow_none=True, metadata=like(None))
    delivered_at = TimestampOut(required=True, allow_none=True, metadata=like(examples.MOMENT))
    next_retry_at = TimestampOut(required=True, allow_none=True)
    request_id = Identifier(required=True, allow_none=True, metadata=like(examples.REQUEST))
    created_at = TimestampOut(required=True)


class DeliveryQuery(PageQuery):
    """The filters of the delivery log."""

    status = Choice(DeliveryStatus, metadata={"description": "Attempts with this outcome."})
    since = Timestamp(round_up=True, metadata={"description": "Attempts at this time or later."})
    attempt_min = QueryInteger(metadata={"description": "Attempts with this number or higher."})
