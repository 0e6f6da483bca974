"""Tickets that people mute, and an index of the tickets that a person commented on."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
_LIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "ticket_mutes",
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id"), primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_ticket_mutes_user_id", "ticket_mutes", ["user_id"])
    op.create_index(
        "ix_comments_live_author",
        "comments",
        ["author_user_id", "created_at", "ticket_id"],
        sqlite_where=_LIVE,
        postgresql_where=_LIVE,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
