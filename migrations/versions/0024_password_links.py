"""One-time links with which a person chooses a password; only the hash of a link is kept."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "password_links",
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name="pk_password_links"),
        sa.UniqueConstraint("token_hash", name="uq_password_links_token_hash"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_password_links_user_id_users"),
    )
    op.create_index("ix_password_links_expires_at", "password_links", ["expires_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
