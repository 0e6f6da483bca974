"""One attempt: its content, its signature, and its outcome."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import bindparam, select

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.core.clock import iso
from app.database.session import AnyRow, session
from app.http.current import current_settings
from app.tickets.models import Ticket
from app.webhooks import chats, messages
from app.webhooks.chats import ChatMessage, message
from app.webhooks.models import Webhook, WebhookForm
from app.webhooks.service import SECRETS

TEST_EVENT = "webhook.test"
CONTENT_TYPE = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it is delivered."""

    type: str
    # The body as shown in docs/webhooks.md, without the id of the attempt.
    content: dict[str, Any]
    request_id: str | None
    # Null for a test event.
    audit_event_id: str | None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """A request that is about to be sent; sending it needs no database."""

    id: str
    number: int
    webhook_id: str
    url: str
    # None if it cannot be decrypted because SECRET_KEY differs.
    secret: bytes | None
    event: Event
    form: WebhookForm = WebhookForm.JSON
    # The message for a chat; None if the event itself is sent.
    message: ChatMessage | None = None

    @property
    def method(self) -> str:
        return "PUT" if self.form is WebhookForm.MATRIX else "POST"

    @property
    def address(self) -> str:
        """The URL of the request. Matrix accepts a message id once, however often it is sent."""
        if self.form is not WebhookForm.MATRIX:
            return self.url
        return f"{self.url}/{self.event.audit_event_id or self.id}"

    @property
    def body(self) -> bytes:
        """The raw body, the same bytes whenever it is built."""
        if self.message is not None:
            return orjson.dumps(chats.content(self.form, self.message))
        return orjson.dumps({"id": self.id, **self.event.content})

    def headers(self, body: bytes, timestamp: int, user_agent: str) -> dict[str, str]:
        """The headers for this body; ``timestamp`` is in Unix seconds."""
        if self.secret is None:
            raise ValueError("an attempt without a secret cannot be signed")
        if self.form is WebhookForm.MATRIX:
            return {
                "Content-Type": CONTENT_TYPE,
                "Authorization": f"Bearer {self.secret.decode()}",
                "User-Agent": user_agent,
            }
        return {
            "Content-Type": CONTENT_TYPE,
            "X-Webhook-Id": self.webhook_id,
            "X-Webhook-Event": self.event.type,
            "X-Webhook-Delivery": self.id,
            "X-Webhook-Timestamp": str(timestamp),
            "X-Webhook-Signature": signature(self.secret, timestamp, body),
            "User-Agent": user_agent,
        }


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """How an attempt ended."""

    # None if there was no response.
    http_status: int | None
    duration_ms: int
    error_message: str | None = None
    # Whether another attempt could succeed.
    is_transient: bool = False

    @property
    def is_success(self) -> bool:
        return self.http_status is not None and 200 <= self.http_status < 300


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """``sha256=`` and the hex HMAC-SHA256 of the timestamp, a period and the raw body."""
    signed = f"{timestamp}.".encode() + body
    return "sha256=" + hmac.new(secret, signed, hashlib.sha256).hexdigest()


def attempt_of(
    webhook: Webhook, event: Event, attempt_id: str, number: int, message: ChatMessage | None
) -> DeliveryAttempt:
    """The attempt; ``message`` is sent to a chat."""
    form = WebhookForm(webhook.form)
    return DeliveryAttempt(
        attempt_id,
        number,
        webhook.id,
        webhook.url,
        SECRETS.decrypt(webhook),
        event,
        form,
        None if form is WebhookForm.JSON else message,
    )


def message_about(webhook: Webhook, event: Event) -> ChatMessage | None:
    """The message about one event; None if the event itself is sent."""
    if webhook.form == WebhookForm.JSON:
        return None
    if event.audit_event_id is not None:
        return chats.messages_of([event.audit_event_id])[event.audit_event_id]
    settings = current_settings()
    sentence = messages.test_of(settings.app_name)
    return message(sentence, "Webhook", f"{settings.base_url}/webhooks/{webhook.id}")


_BY_IDS = (
    select(AuditEvent, User.username, Ticket.display_id)
    .outerjoin(User, User.id == AuditEvent.actor_user_id)
    .outerjoin(Ticket, Ticket.id == AuditEvent.target_id)
    .where(AuditEvent.id.in_(bindparam("ids", expanding=True)))
)


def event_of(audit_event_id: str) -> Event:
    """The event of the audit log as it is delivered; it never changes."""
    return events_of([audit_event_id])[audit_event_id]


def events_of(audit_event_ids: Sequence[str]) -> dict[str, Event]:
    if not audit_event_ids:
        return {}
    rows = session.execute(_BY_IDS, {"ids": list(set(audit_event_ids))})
    return {row.AuditEvent.id: _event(row) for row in rows}


def _event(row: AnyRow) -> Event:
    stored: AuditEvent = row.AuditEvent
    target: dict[str, Any] = {"kind": stored.target_kind, "id": stored.target_id}
    if stored.target_kind == "ticket" and row.display_id is not None:
        target["display_id"] = row.display_id
    content = {
        "type": stored.event_type,
        "occurred_at": iso(stored.created_at),
        "workspace_id": stored.workspace_id,
        "actor": {
            "user_id": stored.actor_user_id,
            "kind": stored.actor_kind,
            "username": row.username,
        },
        "target": target,
        "payload": stored.payload,
        "request_id": stored.request_id,
    }
    return Event(stored.event_type, content, stored.request_id, stored.id)


def test_event(webhook_id: str, occurred_at: int, request_id: str | None) -> Event:
    """An event that shows whether deliveries arrive; it is not stored in the audit log."""
    content = {
        "type": TEST_EVENT,
        "occurred_at": iso(occurred_at),
        "workspace_id": WORKSPACE_ID,
        "actor": {"user_id": None, "kind": "system", "username": None},
        "target": {"kind": "webhook", "id": webhook_id},
        "payload": {},
        "request_id": request_id,
    }
    return Event(TEST_EVENT, content, request_id, None)
