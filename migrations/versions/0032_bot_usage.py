"""What the calls of bots used, and their traces."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
ALL, OF_TICKET = sa.text("ticket_id IS NULL"), sa.text("ticket_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("tool_invocations", sa.Column("traceparent", sa.String(55)))
    op.add_column("tool_invocations", sa.Column("usage", sa.JSON()))
    op.create_table(
        "bot_usage",
        sa.Column("id", ID, primary_key=True),
        sa.Column("bot_user_id", ID, nullable=False),
        sa.Column("ticket_id", ID),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), nullable=False),
    )
    for name, where, *columns in (
        ("uq_bot_usage_bot", ALL, "bot_user_id"),
        ("uq_bot_usage_ticket", OF_TICKET, "ticket_id", "bot_user_id"),
    ):
        op.create_index(
            name,
            "bot_usage",
            columns,
            unique=True,
            sqlite_where=where,
            postgresql_where=where,
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
