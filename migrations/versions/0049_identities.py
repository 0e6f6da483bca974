"""Accounts at identity providers, their sessions, and what must not be used twice."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("id", ID, primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("name", sa.String(254), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("uq_identities_subject", "identities", ["issuer", "subject"], unique=True)
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
    op.create_table(
        "used_tokens",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_used_tokens_expires_at", "used_tokens", ["expires_at"])
    op.add_column("sessions", sa.Column("identity_id", ID))
    op.add_column("sessions", sa.Column("provider_session_hash", sa.String(64)))
    is_sign_on = sa.text("identity_id IS NOT NULL")
    op.create_index(
        "ix_sessions_identity_id",
        "sessions",
        ["identity_id"],
        sqlite_where=is_sign_on,
        postgresql_where=is_sign_on,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
