"""Checkpoints of the audit log."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "audit_checkpoints",
        sa.Column("sequence", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("event_count", sa.Integer(), nullable=False),
        sa.Column("first_event_id", ID, nullable=False),
        sa.Column("last_event_id", ID, nullable=False),
        sa.Column("root", sa.String(64), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
    )
    op.create_index("ix_audit_checkpoints_last_event_id", "audit_checkpoints", ["last_event_id"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
