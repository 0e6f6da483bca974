"""Webhooks, their delivery log, and the outbox."""

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class DeliveryStatus(StrEnum):
    """How an attempt ended: ``retrying`` has another one scheduled, ``failed`` has none."""

    SUCCEEDED = "succeeded"
    RETRYING = "retrying"
    FAILED = "failed"


class WebhookForm(StrEnum):
    """The form of deliveries: the event as JSON, or a message for a chat."""

    JSON = "json"
    SLACK = "slack"
    MATTERMOST = "mattermost"
    DISCORD = "discord"
    TEAMS = "teams"
    MATRIX = "matrix"


class OutboxState(StrEnum):
    """The state of an entry: waiting until it is due, claimed, or done."""

    PENDING = "pending"
    SENDING = "sending"
    FINISHED = "finished"


class Webhook(Base):
    """A subscription; its secret is stored encrypted, since signing needs the plain text."""

    __tablename__ = "webhooks"
    __table_args__ = (Index(None, "created_at", "id"),)

    id: Mapped[str] = id_key()
    url: Mapped[str] = mapped_column(short_text(2048))
    sealed_secret: Mapped[bytes] = mapped_column(LargeBinary)
    event_types: Mapped[list[str]] = mapped_column(JSON)
    is_active: Mapped[bool]
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    last_success_at: Mapped[int | None] = mapped_column(Moment)
    last_failure_at: Mapped[int | None] = mapped_column(Moment)
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    form: Mapped[str] = mapped_column(
        short_text(16), default=WebhookForm.JSON.value, server_default=text("'json'")
    )
    # Only events of these projects are sent; empty means all events.
    project_ids: Mapped[list[str]] = mapped_column(JSON, default=list, server_default=text("'[]'"))

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}


class WebhookDelivery(Base):
    """One finished attempt; its body is rebuilt from the audit event, which never changes."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        one_of("status", DeliveryStatus),
        Index(None, "webhook_id", "created_at", "id"),
        Index(None, "audit_event_id", "webhook_id"),
    )

    id: Mapped[str] = id_key()
    # No foreign key, because deliveries outlive their webhook.
    webhook_id: Mapped[str] = mapped_column(Id)
    # Null for a test event.
    audit_event_id: Mapped[str | None] = mapped_column(Id)
    event_type: Mapped[str] = mapped_column(short_text(64))
    attempt: Mapped[int]
    status: Mapped[str] = mapped_column(short_text(16))
    http_status: Mapped[int | None]
    duration_ms: Mapped[int]
    error_message: Mapped[str | None] = mapped_column(Text)
    delivered_at: Mapped[int | None] = mapped_column(Moment)
    next_retry_at: Mapped[int | None] = mapped_column(Moment)
    request_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[int] = mapped_column(Moment)


class OutboxEntry(Base):
    """An event to be delivered to a webhook."""

    __tablename__ = "webhook_outbox"
    __table_args__: Any = (
        one_of("state", OutboxState),
        Index(None, "state", "webhook_id", "due_at", "id"),
        Index(None, "audit_event_id", "webhook_id"),
        Index(None, "finished_at"),
    )

    id: Mapped[str] = id_key()
    webhook_id: Mapped[str] = mapped_column(Id)
    audit_event_id: Mapped[str] = mapped_column(Id)
    state: Mapped[str] = mapped_column(short_text(16))
    attempt: Mapped[int]
    due_at: Mapped[int] = mapped_column(Moment)
    attempt_id: Mapped[str | None] = mapped_column(Id)
    owner: Mapped[str | None] = mapped_column(short_text(64))
    lease_until: Mapped[int | None] = mapped_column(Moment)
    is_manual: Mapped[bool] = mapped_column(default=False)
    finished_at: Mapped[int | None] = mapped_column(Moment)
