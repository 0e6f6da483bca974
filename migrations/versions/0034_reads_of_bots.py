"""What bots have read of tickets."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "bot_reads",
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.Column("marks", sa.Text(), nullable=False),
    )
    op.create_index("ix_bot_reads_read_at", "bot_reads", ["read_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
