"""From an event to the outbox, in the transaction of the change."""

from typing import cast

from sqlalchemy import Table, insert, select

from app.audit.service import Recorded
from app.core import ids
from app.core.clock import now_ms
from app.core.context import webhooks_are_told
from app.database.session import Prepared, session
from app.webhooks import signals
from app.webhooks.models import OutboxEntry, OutboxState, Webhook
from app.webhooks.rules import NEVER_FORWARDED, is_told

_ACTIVE = Prepared(select(Webhook.id, Webhook.event_types).where(Webhook.is_active))
_INSERT = insert(cast("Table", OutboxEntry.__table__))


def listen(recorded: Recorded) -> None:
    """Put the event into the outbox, once for each active webhook that is to be told of it.

    A webhook is not told of its own creation. Nothing about a personal note is told to anyone, and
    nothing of an import that leaves webhooks in peace.
    """
    if not webhooks_are_told.get():
        return
    if not recorded.target.is_forwarded or recorded.event_type.startswith(NEVER_FORWARDED):
        return
    told = [
        row.id
        for row in _ACTIVE.all()
        if is_told(row.event_types, recorded.event_type) and not _is_own_creation(row.id, recorded)
    ]
    if not told:
        return
    moment = now_ms()
    session.execute(
        _INSERT,
        [
            {
                "id": ids.new_id(),
                "webhook_id": webhook_id,
                "audit_event_id": recorded.id,
                "state": OutboxState.PENDING.value,
                "attempt": 1,
                "due_at": moment,
                "is_manual": False,
            }
            for webhook_id in told
        ],
    )
    signals.outbox_filled.ring_after_commit()


def _is_own_creation(webhook_id: str, recorded: Recorded) -> bool:
    return recorded.event_type == "webhook.created" and recorded.target.id == webhook_id
