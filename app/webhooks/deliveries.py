"""The delivery log, and the health of webhooks that it shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Table, Update, bindparam, exists, select, union_all, update

from app.audit.models import AuditEvent
from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import NotFound
from app.core.ids import as_uuid, created_ms
from app.database.pagination import Page, page
from app.database.session import AnyRow, by_id, session
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.builders import delivery_json
from app.webhooks.models import DeliveryStatus, Webhook, WebhookDelivery
from app.webhooks.service import find as find_webhook
from app.webhooks.service import target

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Health:
    """The states of a webhook's last attempts, oldest first."""

    states: tuple[str, ...] = ()

    @property
    def attempts(self) -> int:
        """How many there are, ``SHOWN`` at most."""
        return len(self.states)

    @property
    def successes(self) -> int:
        """How many of them arrived."""
        return self.states.count(DeliveryStatus.SUCCEEDED)

    @property
    def percent(self) -> int | None:
        """The success rate; None where nothing was attempted. Only all are a hundred."""
        return self.successes * 100 // self.attempts if self.attempts else None

    @property
    def is_failing(self) -> bool:
        """Whether none of the last ten arrived."""
        last = self.states[-10:]
        return len(last) == 10 and DeliveryStatus.SUCCEEDED not in last

    @property
    def text(self) -> str:
        """The strip in words, for those who do not see it."""
        if not self.attempts:
            return "Nothing was sent yet"
        missed = self.attempts - self.successes
        return f"Last {self.attempts} attempts: {self.successes} arrived, {missed} did not"


def health_of(webhook_ids: Sequence[str]) -> dict[str, Health]:
    """The health of these webhooks, in one query that reads ``SHOWN`` rows of each."""
    if not webhook_ids:
        return {}
    newest = [
        select(WebhookDelivery.webhook_id, WebhookDelivery.status, WebhookDelivery.id)
        .where(WebhookDelivery.webhook_id == webhook_id)
        .order_by(WebhookDelivery.created_at.desc(), WebhookDelivery.id.desc())
        .limit(SHOWN)
        .subquery()
        for webhook_id in webhook_ids
    ]
    rows = session.execute(union_all(*(select(one) for one in newest))).all()
    states: dict[str, list[str]] = {webhook_id: [] for webhook_id in webhook_ids}
    for webhook_id, status, _ in sorted(rows, key=lambda row: row.id):
        states[webhook_id].append(status)
    return {webhook_id: Health(tuple(found)) for webhook_id, found in states.items()}


# What the column of attempts can hold; PostgreSQL compares it with nothing larger.
_LARGEST_NUMBER = 2**31 - 1


def _noting(column: str) -> Update:
    """Not a change of the webhook: its version stays, so that nobody's edit meets a conflict."""
    table = cast("Table", Webhook.__table__)
    return (
        update(table).where(table.c.id == bindparam("named")).values({column: bindparam("moment")})
    )


_SUCCEEDED = _noting("last_success_at")
_FAILED = _noting("last_failure_at")


def _build(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
    return [delivery_json(row.WebhookDelivery) for row in rows]


@operation(Access.HUMAN)
def list_deliveries(
    actor: Actor,
    webhook_id: str,
    *,
    limit: int,
    cursor: str | None,
    status: str | None = None,
    since: int | None = None,
    attempt_min: int | None = None,
    event_type: str | None = None,
) -> Page:
    """The attempts to deliver to a webhook, newest first; raises NotFound.

    Those of a deleted webhook stay readable; ``since`` is in milliseconds.
    """
    canonical = as_uuid(webhook_id)
    if canonical is None or not _has_been(canonical):
        raise NotFound("webhook", webhook_id)
    statement = select(WebhookDelivery, WebhookDelivery.id, WebhookDelivery.created_at).where(
        WebhookDelivery.webhook_id == canonical
    )
    if status is not None:
        statement = statement.where(WebhookDelivery.status == status)
    if since is not None:
        statement = statement.where(WebhookDelivery.created_at >= since)
    if attempt_min is not None:
        least = min(max(attempt_min, 0), _LARGEST_NUMBER)
        statement = statement.where(WebhookDelivery.attempt >= least)
    if event_type is not None:
        statement = statement.where(WebhookDelivery.event_type == event_type)
    return page(
        statement,
        kind="delivery",
        sort=WebhookDelivery.created_at,
        id_column=WebhookDelivery.id,
        limit=limit,
        cursor=cursor,
        build=_build,
    )


def _has_been(webhook_id: str) -> bool:
    """Whether there is such a webhook, or was one: its creation stays in the audit log."""
    found = session.get(Webhook, webhook_id) is not None
    return found or bool(
        session.scalar(
            select(
                exists().where(
                    AuditEvent.event_type == "webhook.deleted", AuditEvent.target_id == webhook_id
                )
            )
        )
    )


def find(webhook_id: str, delivery_id: str) -> WebhookDelivery:
    """An attempt of this webhook; raises NotFound."""
    canonical = as_uuid(delivery_id)
    delivery = session.get(WebhookDelivery, canonical) if canonical else None
    if delivery is None or delivery.webhook_id != as_uuid(webhook_id):
        raise NotFound("delivery", delivery_id)
    return delivery


def find_any(delivery_id: str) -> WebhookDelivery:
    """An attempt of whichever webhook; raises NotFound."""
    delivery = by_id(WebhookDelivery, delivery_id)
    if delivery is None:
        raise NotFound("delivery", delivery_id)
    return delivery


@operation(Access.HUMAN)
def undelivered(actor: Actor, webhook_id: str) -> list[str]:
    """Ids of the last attempt for each event that did not reach this webhook, oldest first.

    Raises NotFound.
    """
    webhook = find_webhook(webhook_id)
    attempts = session.execute(
        select(WebhookDelivery.id, WebhookDelivery.audit_event_id, WebhookDelivery.status)
        # A test is no event: nobody misses it.
        .where(
            WebhookDelivery.webhook_id == webhook.id, WebhookDelivery.audit_event_id.is_not(None)
        )
        .order_by(WebhookDelivery.created_at, WebhookDelivery.id)
    )
    last: dict[str, AnyRow] = {}
    for attempt in attempts:
        arrived = last.get(attempt.audit_event_id)
        if arrived is None or arrived.status != DeliveryStatus.SUCCEEDED:
            last[attempt.audit_event_id] = attempt
    return [one.id for one in last.values() if one.status == DeliveryStatus.FAILED]


def add(
    actor: Actor, attempt: DeliveryAttempt, outcome: DeliveryOutcome, next_retry_at: int | None
) -> None:
    """Write the row of an attempt and what it says of its webhook; record the event."""
    moment = now_ms()
    status = DeliveryStatus.RETRYING if next_retry_at is not None else DeliveryStatus.FAILED
    if outcome.is_success:
        status = DeliveryStatus.SUCCEEDED
    session.add(
        WebhookDelivery(
            id=attempt.id,
            webhook_id=attempt.webhook_id,
            audit_event_id=attempt.audit_event_id,
            event_type=attempt.event_type,
            attempt=attempt.number,
            status=status.value,
            http_status=outcome.http_status,
            duration_ms=outcome.duration_ms,
            error_message=outcome.error_message,
            delivered_at=moment if outcome.is_success else None,
            next_retry_at=next_retry_at,
            request_id=attempt.request_id,
            created_at=created_ms(attempt.id),
        )
    )
    told = {"named": attempt.webhook_id, "moment": moment}
    session.execute(_SUCCEEDED if outcome.is_success else _FAILED, told)
    said: dict[str, Any] = {
        "delivery_id": attempt.id,
        "event_type": attempt.event_type,
        "attempt": attempt.number,
        "http_status": outcome.http_status,
    }
    if outcome.is_success:
        record(actor, "webhook.delivery_succeeded", target(attempt.webhook_id), **said)
    else:
        said |= {"will_retry": next_retry_at is not None, "error": outcome.error_message}
        record(actor, "webhook.delivery_failed", target(attempt.webhook_id), **said)
