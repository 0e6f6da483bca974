"""The delivery log, and the health of webhooks derived from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sqlalchemy import Table, Update, bindparam, exists, select, union_all, update

from app.audit.models import AuditEvent
from app.audit.service import record
from app.core import measuring
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, iso_or_none, now_ms
from app.core.errors import NotFound
from app.core.ids import as_uuid, created_ms
from app.database.pagination import Page, page
from app.database.session import AnyRow, after_commit, by_id, session
from app.webhooks import messages
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.models import DeliveryStatus, Webhook, WebhookDelivery
from app.webhooks.service import find as find_webhook
from app.webhooks.service import target

HEALTH_ATTEMPTS = 50
# The largest value of the column; PostgreSQL refuses to compare it with a larger one.
_MAX_ATTEMPT = 2**31 - 1


def _set_moment(column: str) -> Update:
    """An update that keeps the version: it is no change of the webhook, so no edit conflicts."""
    table = cast("Table", Webhook.__table__)
    return (
        update(table)
        .where(table.c.id == bindparam("webhook"))
        .values({column: bindparam("moment")})
    )


_SET_SUCCESS = _set_moment("last_success_at")
_SET_FAILURE = _set_moment("last_failure_at")


@dataclass(frozen=True, slots=True)
class Health:
    """The states of a webhook's last attempts, oldest first."""

    states: tuple[str, ...] = ()

    @property
    def attempts(self) -> int:
        """The number of attempts, at most ``HEALTH_ATTEMPTS``."""
        return len(self.states)

    @property
    def successes(self) -> int:
        return self.states.count(DeliveryStatus.SUCCEEDED)

    @property
    def percent(self) -> int | None:
        """The success rate, rounded down; None without attempts."""
        return self.successes * 100 // self.attempts if self.attempts else None

    @property
    def is_failing(self) -> bool:
        """Whether all of the last ten attempts failed."""
        last = self.states[-10:]
        return len(last) == 10 and DeliveryStatus.SUCCEEDED not in last

    @property
    def text(self) -> str:
        """The attempts in words, for screen readers."""
        if not self.attempts:
            return messages.NO_DELIVERIES
        missed = self.attempts - self.successes
        return messages.last_attempts(self.attempts, self.successes, missed)


def health_of(webhook_ids: Sequence[str]) -> dict[str, Health]:
    """The health of each webhook, in one query for all."""
    if not webhook_ids:
        return {}
    newest = [
        select(WebhookDelivery.webhook_id, WebhookDelivery.status, WebhookDelivery.id)
        .where(WebhookDelivery.webhook_id == webhook_id)
        .order_by(WebhookDelivery.created_at.desc(), WebhookDelivery.id.desc())
        .limit(HEALTH_ATTEMPTS)
        .subquery()
        for webhook_id in webhook_ids
    ]
    rows = session.execute(union_all(*(select(rows) for rows in newest))).all()
    states: dict[str, list[str]] = {webhook_id: [] for webhook_id in webhook_ids}
    for webhook_id, status, _ in sorted(rows, key=lambda row: row.id):
        states[webhook_id].append(status)
    return {webhook_id: Health(tuple(of_webhook)) for webhook_id, of_webhook in states.items()}


def delivery_json(delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "event_type": delivery.event_type,
        "attempt": delivery.attempt,
        "status": delivery.status,
        "http_status": delivery.http_status,
        "duration_ms": delivery.duration_ms,
        "error_message": delivery.error_message,
        "delivered_at": iso_or_none(delivery.delivered_at),
        "next_retry_at": iso_or_none(delivery.next_retry_at),
        "request_id": delivery.request_id,
        "created_at": iso(delivery.created_at),
    }


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

    The attempts of a deleted webhook stay readable. ``since`` is in milliseconds.
    """
    canonical = as_uuid(webhook_id)
    if canonical is None or not _has_existed(canonical):
        raise NotFound("webhook", webhook_id)
    statement = select(WebhookDelivery, WebhookDelivery.id, WebhookDelivery.created_at).where(
        WebhookDelivery.webhook_id == canonical
    )
    if status is not None:
        statement = statement.where(WebhookDelivery.status == status)
    if since is not None:
        statement = statement.where(WebhookDelivery.created_at >= since)
    if attempt_min is not None:
        minimum = min(max(attempt_min, 0), _MAX_ATTEMPT)
        statement = statement.where(WebhookDelivery.attempt >= minimum)
    if event_type is not None:
        statement = statement.where(WebhookDelivery.event_type == event_type)
    return page(
        statement,
        kind="delivery",
        sort=WebhookDelivery.created_at,
        id_column=WebhookDelivery.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [delivery_json(row.WebhookDelivery) for row in rows],
    )


def _has_existed(webhook_id: str) -> bool:
    if session.get(Webhook, webhook_id) is not None:
        return True
    was_deleted = exists().where(
        AuditEvent.event_type == "webhook.deleted", AuditEvent.target_id == webhook_id
    )
    return bool(session.scalar(select(was_deleted)))


def find(delivery_id: str, *, webhook_id: str | None = None) -> WebhookDelivery:
    """An attempt, of this webhook if one is given; raises NotFound."""
    delivery = by_id(WebhookDelivery, delivery_id)
    if delivery is None or (webhook_id is not None and as_uuid(webhook_id) != delivery.webhook_id):
        raise NotFound("delivery", delivery_id)
    return delivery


@operation(Access.HUMAN)
def undelivered(actor: Actor, webhook_id: str) -> list[str]:
    """Ids of the last attempt of each event that did not arrive, oldest first; raises NotFound."""
    webhook = find_webhook(webhook_id)
    attempts = session.execute(
        select(WebhookDelivery.id, WebhookDelivery.audit_event_id, WebhookDelivery.status)
        # A test need not be retried.
        .where(
            WebhookDelivery.webhook_id == webhook.id, WebhookDelivery.audit_event_id.is_not(None)
        )
        .order_by(WebhookDelivery.created_at, WebhookDelivery.id)
    )
    last: dict[str, AnyRow] = {}
    for attempt in attempts:
        earlier = last.get(attempt.audit_event_id)
        if earlier is None or earlier.status != DeliveryStatus.SUCCEEDED:
            last[attempt.audit_event_id] = attempt
    return [row.id for row in last.values() if row.status == DeliveryStatus.FAILED]


def add(
    actor: Actor, attempt: DeliveryAttempt, outcome: DeliveryOutcome, next_retry_at: int | None
) -> None:
    """Write the row of an attempt, note its time on the webhook, and record the event."""
    moment = now_ms()
    status = DeliveryStatus.RETRYING if next_retry_at is not None else DeliveryStatus.FAILED
    if outcome.is_success:
        status = DeliveryStatus.SUCCEEDED
    session.add(
        WebhookDelivery(
            id=attempt.id,
            webhook_id=attempt.webhook_id,
            audit_event_id=attempt.event.audit_event_id,
            event_type=attempt.event.type,
            attempt=attempt.number,
            status=status.value,
            http_status=outcome.http_status,
            duration_ms=outcome.duration_ms,
            error_message=outcome.error_message,
            delivered_at=moment if outcome.is_success else None,
            next_retry_at=next_retry_at,
            request_id=attempt.event.request_id,
            created_at=created_ms(attempt.id),
        )
    )
    session.execute(
        _SET_SUCCESS if outcome.is_success else _SET_FAILURE,
        {"webhook": attempt.webhook_id, "moment": moment},
    )
    if measuring.measurements is not None:
        took = outcome.duration_ms / 1000
        after_commit(partial(measuring.measurements.delivery, status.value, took))
    payload: dict[str, Any] = {
        "delivery_id": attempt.id,
        "event_type": attempt.event.type,
        "attempt": attempt.number,
        "http_status": outcome.http_status,
    }
    if outcome.is_success:
        record(actor, "webhook.delivery_succeeded", target(attempt.webhook_id), **payload)
    else:
        payload |= {"will_retry": next_retry_at is not None, "error": outcome.error_message}
        record(actor, "webhook.delivery_failed", target(attempt.webhook_id), **payload)
