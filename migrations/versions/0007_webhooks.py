"""Webhooks, the attempts to deliver to them, and the outbox of what is due."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", ID, primary_key=True),
        sa.Column("url", sa.String(2048), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=False),
        sa.Column("event_types", sa.JSON(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("last_success_at", MOMENT, nullable=True),
        sa.Column("last_failure_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_index("ix_webhooks_created_at_id", "webhooks", ["created_at", "id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, primary_key=True),
        sa.Column("webhook_id", ID, nullable=False),
        sa.Column("audit_event_id", ID, nullable=True),
        sa.Column("event_type", sa.String(64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("next_retry_at", MOMENT, nullable=True),
        sa.Column("request_id", ID, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint("status IN ('succeeded', 'retrying', 'failed')", name="status"),
    )
    op.create_index(
        "ix_webhook_deliveries_webhook_id_created_at_id",
        "webhook_deliveries",
        ["webhook_id", "created_at", "id"],
    )
    op.create_index(
        "ix_webhook_deliveries_audit_event_id_webhook_id",
        "webhook_deliveries",
        ["audit_event_id", "webhook_id"],
    )
    op.create_table(
        "webhook_outbox",
        sa.Column("id", ID, primary_key=True),
        sa.Column("webhook_id", ID, nullable=False),
        sa.Column("audit_event_id", ID, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        # The number of the attempt that is due or under way.
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("due_at", MOMENT, nullable=False),
        # While an attempt is under way: its id, who makes it, and until when they may.
        sa.Column("attempt_id", ID, nullable=True),
        sa.Column("owner", sa.String(64), nullable=True),
        sa.Column("lease_until", MOMENT, nullable=True),
        # A manual retry schedules nothing after it.
        sa.Column("is_manual", sa.Boolean(), nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.CheckConstraint("state IN ('pending', 'sending', 'finished')", name="state"),
    )
    op.create_index(
        "ix_webhook_outbox_state_webhook_id_due_at_id",
        "webhook_outbox",
        ["state", "webhook_id", "due_at", "id"],
    )
    op.create_index(
        "ix_webhook_outbox_audit_event_id_webhook_id",
        "webhook_outbox",
        ["audit_event_id", "webhook_id"],
    )
    op.create_index("ix_webhook_outbox_finished_at", "webhook_outbox", ["finished_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
