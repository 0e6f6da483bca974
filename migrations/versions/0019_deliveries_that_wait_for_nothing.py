"""Deliveries whose webhook was switched off or deleted while they waited have failed.

Their rows went on to say that another attempt was scheduled.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        sa.text(
            """
            UPDATE webhook_deliveries
               SET status = 'failed', next_retry_at = NULL,
                   error_message = 'webhook was switched off'
             WHERE status = 'retrying'
               AND NOT EXISTS (
                   SELECT 1 FROM webhook_outbox AS entry
                    WHERE entry.webhook_id = webhook_deliveries.webhook_id
                      AND entry.audit_event_id = webhook_deliveries.audit_event_id
                      AND entry.state IN ('pending', 'sending'))
               AND NOT EXISTS (
                   SELECT 1 FROM webhook_deliveries AS later
                    WHERE later.webhook_id = webhook_deliveries.webhook_id
                      AND later.audit_event_id = webhook_deliveries.audit_event_id
                      AND later.attempt > webhook_deliveries.attempt)
            """
        )
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
