"""People, bots, what they log in with, and the answers kept for Idempotency-Key.

Constraints have the names that the convention in app/core/db.py gives them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()
ACTIVE = sa.text("is_active")


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", ID, primary_key=True),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("username", sa.String(64), nullable=False, unique=True),
        sa.Column("display_name", sa.String(200), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=True),
        sa.Column("bot_mode", sa.String(8), nullable=True),
        sa.Column("project_ids", sa.JSON(), nullable=True),
        sa.Column("can_edit_global_wiki", sa.Boolean(), nullable=True),
        sa.Column("rate_limit_per_minute", sa.Integer(), nullable=True),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("(type = 'bot') = (bot_mode IS NOT NULL)", name="bot_has_mode"),
        sa.CheckConstraint("type = 'human' OR password_hash IS NULL", name="bot_has_no_password"),
        sa.CheckConstraint("bot_mode IS NULL OR bot_mode IN ('read', 'write')", name="bot_mode"),
        sa.CheckConstraint("type IN ('human', 'bot')", name="type"),
    )
    op.create_index("ix_users_type_created_at_id", "users", ["type", "created_at", "id"])
    op.create_table(
        "bot_tokens",
        sa.Column("id", ID, primary_key=True),
        sa.Column("bot_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("prefix", sa.String(8), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("issued_at", MOMENT, nullable=False),
        sa.Column("rotated_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.Column("last_used_at", MOMENT, nullable=True),
        sa.Column("audited_at", MOMENT, nullable=True),
    )
    op.create_index("ix_bot_tokens_prefix", "bot_tokens", ["prefix"])
    op.create_index(
        "uq_bot_tokens_active",
        "bot_tokens",
        ["bot_user_id"],
        unique=True,
        sqlite_where=ACTIVE,
        postgresql_where=ACTIVE,
    )
    op.create_table(
        "sessions",
        sa.Column("id", ID, primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("user_agent", sa.String(200), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("last_seen_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "login_buckets",
        sa.Column("key_hash", sa.String(64), primary_key=True),
        sa.Column("hits", sa.JSON(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("audited_at", MOMENT, nullable=True),
    )
    op.create_index("ix_login_buckets_updated_at", "login_buckets", ["updated_at"])
    op.create_table(
        "idempotency_records",
        sa.Column("id", ID, primary_key=True),
        sa.Column("actor_user_id", ID, nullable=False),
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.UniqueConstraint("actor_user_id", "key_hash"),
    )
    op.create_index("ix_idempotency_records_expires_at", "idempotency_records", ["expires_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
