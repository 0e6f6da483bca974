"""REST endpoints of webhooks and their deliveries; humans only."""

from app.core.errors import Conflict, InvalidField, NotFound
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created
from app.webhooks import deliveries, manual_delivery, service
from app.webhooks.schemas import (
    DeliveryOut,
    DeliveryQuery,
    DeliveryRetry,
    PatchedWebhookOut,
    WebhookCreate,
    WebhookOut,
    WebhookPatch,
    WebhookPatchQuery,
    WebhookWithSecretOut,
)

api = Api("webhooks")

WEBHOOK = "/webhooks/<webhook_id>"


@api.route(
    "GET",
    "/webhooks",
    "webhooks.list",
    calls=service.list_webhooks,
    query=PageQuery,
    returns=WebhookOut,
    paginated=True,
    leads_to=("webhooks.get",),
)
def list_webhooks(call: Call) -> Answer:
    """List all webhooks, newest first; secrets are never shown."""
    return Answer(service.list_webhooks(call.actor, **call.query).collection)


@api.route(
    "POST",
    "/webhooks",
    "webhooks.create",
    calls=service.create_webhook,
    body=WebhookCreate,
    returns=WebhookWithSecretOut,
    status=201,
    idempotent=True,
    leads_to=("webhooks.get", "webhooks.update", "webhooks.deliveries.list"),
    errors=(InvalidField,),
)
def create_webhook(call: Call) -> Answer:
    """Subscribe an https address to events; the secret is shown in this response only."""
    webhook = service.create_webhook(call.actor, **call.body)
    shown = {**service.webhook_json(webhook), "secret": call.body["secret"]}
    return created(shown, f"/webhooks/{webhook.id}")


@api.route(
    "GET",
    WEBHOOK,
    "webhooks.get",
    calls=service.get_webhook,
    returns=WebhookOut,
    errors=(NotFound,),
)
def get_webhook(call: Call) -> Answer:
    """Fetch one webhook, without its secret."""
    return Answer(service.webhook_json(service.get_webhook(call.actor, call.path["webhook_id"])))


@api.route(
    "PATCH",
    WEBHOOK,
    "webhooks.update",
    calls=service.update_webhook,
    body=WebhookPatch,
    query=WebhookPatchQuery,
    returns=PatchedWebhookOut,
    errors=(InvalidField, NotFound, Conflict),
)
def update_webhook(call: Call) -> Answer:
    """Change a webhook. With `rotate_secret=true` the body has the new secret, which this
    response shows once.
    """
    webhook = service.update_webhook(call.actor, call.path["webhook_id"], **call.query, **call.body)
    shown = service.webhook_json(webhook)
    if call.query["rotate_secret"]:
        shown["secret"] = call.body["secret"]
    return Answer(shown)


@api.route(
    "DELETE",
    WEBHOOK,
    "webhooks.delete",
    calls=service.delete_webhook,
    status=204,
    errors=(NotFound,),
)
def delete_webhook(call: Call) -> Answer:
    """Delete a webhook; its deliveries remain."""
    service.delete_webhook(call.actor, call.path["webhook_id"])
    return NO_CONTENT


@api.route(
    "GET",
    f"{WEBHOOK}/deliveries",
    "webhooks.deliveries.list",
    calls=deliveries.list_deliveries,
    query=DeliveryQuery,
    returns=DeliveryOut,
    paginated=True,
    leads_to=("webhooks.deliveries.retry",),
    errors=(NotFound,),
)
def list_deliveries(call: Call) -> Answer:
    """List the attempts to deliver to a webhook, newest first; also those of a deleted one."""
    page = deliveries.list_deliveries(call.actor, call.path["webhook_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "POST",
    f"{WEBHOOK}/deliveries/<delivery_id>/retry",
    "webhooks.deliveries.retry",
    calls=manual_delivery.retry_delivery,
    body=DeliveryRetry,
    returns=DeliveryOut,
    status=201,
    own_transactions=True,
    errors=(NotFound, Conflict),
)
def retry_delivery(call: Call) -> Answer:
    """Send a failed delivery again now; the response is the new attempt.

    It replaces a scheduled retry, and is not retried itself.
    """
    webhook_id = call.path["webhook_id"]
    delivery = manual_delivery.retry_delivery(call.actor, webhook_id, call.path["delivery_id"])
    return created(delivery, f"/webhooks/{webhook_id}/deliveries")
