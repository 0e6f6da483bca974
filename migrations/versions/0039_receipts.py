"""What a bot had read when it changed something."""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")

# Every column of an event but tool_invocation_log_id (0003_audit_log.py).
KEPT = (
    *("id", "workspace_id", "category", "event_type", "actor_user_id", "actor_kind", "target_kind"),
    *("target_id", "project_id", "ticket_id", "payload", "request_id", "created_at", "receipt"),
)


def upgrade() -> None:
    op.add_column("audit_events", sa.Column("receipt", sa.JSON(), nullable=True))
    columns = (
        sa.Column("version", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("seen", sa.Text(), nullable=False, server_default=sa.text("''")),
        sa.Column("seen_at", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
    )
    for column in columns:
        op.add_column("bot_reads", column)
    op.execute("UPDATE bot_reads SET seen_at = read_at")
    op.drop_index("ix_bot_reads_read_at", "bot_reads")
    op.create_index("ix_bot_reads_seen_at", "bot_reads", ["seen_at"])
    op.create_table(
        "bot_readers",
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("process_id", ID, primary_key=True),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
    )
    # What bots read before is not known, nor what processes of the older release show them, which
    # may serve for some minutes more.
    now = time.time_ns() // 1_000_000 + 600_000
    op.execute(
        "INSERT INTO bot_reads (user_id, subject, read_at, marks, version, seen, seen_at) "
        f"SELECT id, 'gap', 0, '', {now}, '', {now} FROM users WHERE type = 'bot'"
    )
    if op.get_bind().dialect.name == "sqlite":
        same = " AND ".join(f"new.{name} IS old.{name}" for name in KEPT)
        op.execute("DROP TRIGGER audit_events_no_update")
        op.execute(
            "CREATE TRIGGER audit_events_no_update BEFORE UPDATE ON audit_events "
            f"WHEN NOT (new.tool_invocation_log_id IS NULL AND {same}) "
            "BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END"
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
