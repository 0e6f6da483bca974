"""Reactions on comments."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "comment_reactions",
        sa.Column("comment_id", ID, sa.ForeignKey("comments.id"), primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("reaction", sa.String(16), primary_key=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint(
            "reaction IN ('thumbs_up', 'thumbs_down', 'laugh', 'hooray', 'heart', 'eyes')",
            name="reaction",
        ),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
