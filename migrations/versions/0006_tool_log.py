"""The log of tool calls by bots, and the switch that pauses them all."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "tool_invocations",
        sa.Column("id", ID, primary_key=True),
        sa.Column("bot_user_id", ID, nullable=False),
        sa.Column("tool_name", sa.String(128), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("result_status", sa.String(64), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("request_id", ID, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_index("ix_tool_invocations_created_at_id", "tool_invocations", ["created_at", "id"])
    op.create_index(
        "ix_tool_invocations_bot_user_id_created_at_id",
        "tool_invocations",
        ["bot_user_id", "created_at", "id"],
    )
    op.create_index(
        "ix_tool_invocations_tool_name_created_at_id",
        "tool_invocations",
        ["tool_name", "created_at", "id"],
    )
    op.create_index("ix_tool_invocations_request_id", "tool_invocations", ["request_id"])
    named = sa.text("tool_invocation_log_id IS NOT NULL")
    op.create_index(
        "ix_audit_events_tool_invocation_log_id",
        "audit_events",
        ["tool_invocation_log_id"],
        sqlite_where=named,
        postgresql_where=named,
    )
    op.create_table(
        "workspaces",
        sa.Column("id", ID, primary_key=True),
        sa.Column("bots_paused_at", MOMENT, nullable=True),
        sa.Column("bots_paused_by_user_id", ID, nullable=True),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
