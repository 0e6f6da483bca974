"""The verbs of webhooks, humans only, and the encryption of their secrets."""

from typing import Any

from sqlalchemy import select

from app.audit.service import Target, record
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.encryption import SecretColumn
from app.database.locks import Lock, acquire
from app.database.pagination import Page, page
from app.database.session import session
from app.database.versions import apply_changes, touch
from app.projects.loaders import listed_projects
from app.webhooks import messages, pending, rules
from app.webhooks.models import Webhook, WebhookForm

SECRETS = SecretColumn(Webhook, "webhook")


def find(webhook_id: str, *, lock: bool = False) -> Webhook:
    """The webhook of this id; raises NotFound."""
    canonical = as_uuid(webhook_id)
    webhook = session.get(Webhook, canonical, with_for_update=lock or None) if canonical else None
    if webhook is None:
        raise NotFound("webhook", webhook_id)
    return webhook


def target(webhook_id: str) -> Target:
    return Target("webhook", webhook_id)


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """The JSON of a webhook, without its secret."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "event_types": webhook.event_types,
        "is_active": webhook.is_active,
        "created_by_user_id": webhook.created_by_user_id,
        "last_success_at": iso_or_none(webhook.last_success_at),
        "last_failure_at": iso_or_none(webhook.last_failure_at),
        "created_at": iso(webhook.created_at),
        "updated_at": iso(webhook.updated_at),
        "form": webhook.form,
        "project_ids": webhook.project_ids,
    }


@operation(Access.HUMAN)
def list_webhooks(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    return page(
        select(Webhook, Webhook.id, Webhook.created_at),
        kind="webhook",
        sort=Webhook.created_at,
        id_column=Webhook.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [webhook_json(row.Webhook) for row in rows],
    )


@operation(Access.HUMAN)
def get_webhook(actor: Actor, webhook_id: str) -> Webhook:
    return find(webhook_id)


@operation(Access.HUMAN)
def create_webhook(
    actor: Actor,
    *,
    url: str,
    secret: str,
    event_types: list[str],
    is_active: bool = True,
    form: str = WebhookForm.JSON.value,
    project_ids: list[str] | None = None,
) -> Webhook:
    """Subscribe an address to events; raises InvalidField.

    With projects, it receives only their events.
    """
    rules.url(url, WebhookForm(form))
    rules.secret(secret, WebhookForm(form))
    types = rules.event_types(event_types)
    projects = listed_projects(project_ids or [])
    identifier = ids.new_id()
    created_at = ids.created_ms(identifier)
    webhook = Webhook(
        id=identifier,
        url=url,
        sealed_secret=SECRETS.encrypt(identifier, secret.encode()),
        event_types=types,
        is_active=is_active,
        created_by_user_id=actor.id,
        created_at=created_at,
        updated_at=created_at,
        form=form,
        project_ids=projects,
    )
    session.add(webhook)
    session.flush()
    record(
        actor,
        "webhook.created",
        target(identifier),
        url=rules.recorded_url(url, WebhookForm(form)),
        event_types=types,
        is_active=is_active,
        form=form,
        project_ids=projects,
    )
    return webhook


@operation(Access.HUMAN)
def update_webhook(
    actor: Actor, /, webhook_id: str, *, rotate_secret: bool = False, **fields: Any
) -> Webhook:
    """Change a webhook; ``rotate_secret`` replaces the secret for all later signatures.

    Nobody sees a stored secret. Deliveries to Matrix carry it, so another server needs a new one.
    Raises NotFound, InvalidField, and Conflict ``invariant_violation`` for a rotation without a
    secret.
    """
    if fields.get("is_active") is False:
        # Always the first lock, to prevent deadlocks.
        acquire(Lock.OUTBOX)
    webhook = find(webhook_id, lock=True)
    secret = fields.pop("secret", None)
    if rotate_secret and secret is None:
        raise Conflict("invariant_violation", messages.SEND_NEW_SECRET)
    if secret is not None and not rotate_secret:
        raise InvalidField("secret", "immutable", messages.SET_ROTATE_SECRET)
    form = WebhookForm(webhook.form)
    if "url" in fields:
        moved = not rules.is_same_server(rules.url(fields["url"], form), webhook.url)
        if form is WebhookForm.MATRIX and moved and secret is None:
            raise InvalidField("secret", "missing", messages.TOKEN_OF_ANOTHER_SERVER)
    if "project_ids" in fields:
        fields["project_ids"] = listed_projects(fields["project_ids"], already=webhook.project_ids)
    if "event_types" in fields:
        fields["event_types"] = rules.event_types(fields["event_types"])
    if secret is not None:
        webhook.sealed_secret = SECRETS.encrypt(webhook.id, rules.secret(secret, form).encode())
        touch(webhook)
    changed = apply_changes(webhook, fields)
    session.flush()
    if "is_active" in changed and not webhook.is_active:
        pending.end(webhook.id, messages.WEBHOOK_DISABLED)
    if changed:
        if "url" in changed:
            changed["url"] = {
                end: rules.recorded_url(address, form) for end, address in changed["url"].items()
            }
        record(actor, "webhook.updated", target(webhook.id), changes=changed)
    if secret is not None:
        record(actor, "webhook.secret_rotated", target(webhook.id))
    return webhook


@operation(Access.HUMAN)
def delete_webhook(actor: Actor, webhook_id: str) -> None:
    """Delete a webhook and drop its unsent entries; its deliveries remain. Raises NotFound."""
    # Always the first lock. From here on, nobody can claim an entry of this webhook.
    acquire(Lock.OUTBOX)
    webhook = find(webhook_id, lock=True)
    pending.end(webhook.id, messages.WEBHOOK_DELETED)
    session.delete(webhook)
    session.flush()
    url = rules.recorded_url(webhook.url, WebhookForm(webhook.form))
    record(actor, "webhook.deleted", target(webhook.id), url=url)
