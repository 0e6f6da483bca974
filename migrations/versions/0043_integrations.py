"""Integrations with code forges."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "code_connections",
        sa.Column("id", ID, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("forge", sa.String(16), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=False),
        sa.Column("bot_user_id", ID, sa.ForeignKey("users.id"), nullable=False, unique=True),
        sa.Column("on_merge", sa.JSON(), nullable=False),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("forge IN ('github', 'gitlab', 'gitea', 'forgejo')", name="forge"),
    )
    op.create_index("ix_code_connections_created_at_id", "code_connections", ["created_at", "id"])
    op.create_table(
        "code_deliveries",
        sa.Column("id", ID, primary_key=True),
        sa.Column("connection_id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("event", sa.String(64), nullable=False),
        sa.Column("outcome", sa.String(200), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("connection_id", "fingerprint"),
    )
    op.create_index(
        "ix_code_deliveries_connection_id_created_at_id",
        "code_deliveries",
        ["connection_id", "created_at", "id"],
    )
    op.create_index("ix_code_deliveries_created_at", "code_deliveries", ["created_at"])
    op.create_table(
        "code_changes",
        sa.Column("id", ID, primary_key=True),
        sa.Column("connection_id", ID, nullable=False),
        sa.Column("external_id", sa.String(200), nullable=False, unique=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(8)),
        sa.Column("author", sa.String(200)),
        sa.Column("head", sa.String(64)),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("ticket_ids", sa.JSON(), nullable=False),
        sa.Column("moved_ticket_ids", sa.JSON(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_index("ix_code_changes_connection_id_head", "code_changes", ["connection_id", "head"])
    op.create_index("ix_code_changes_updated_at", "code_changes", ["updated_at"])
    op.create_table(
        "code_checks",
        sa.Column("id", ID, primary_key=True),
        sa.Column("connection_id", ID, nullable=False),
        sa.Column("commit", sa.String(200), nullable=False),
        sa.Column("context", sa.String(200), nullable=False),
        sa.Column("checks", sa.String(8), nullable=False),
        sa.Column("run", sa.BigInteger(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.UniqueConstraint("connection_id", "commit", "context"),
    )
    op.create_index("ix_code_checks_updated_at", "code_checks", ["updated_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
