"""How the last attempts of webhooks went, for the strip that people read at a glance."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, union_all

from app.database.session import session
from app.webhooks.models import DeliveryStatus, WebhookDelivery

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
