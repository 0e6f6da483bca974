"""Limits of what a bot may create, and bots that are paused."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "projects",
        sa.Column(
            "bot_creation_limit", sa.Integer(), nullable=False, server_default=sa.text("100")
        ),
    )
    op.add_column(
        "users", sa.Column("is_paused", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("users", sa.Column("resumed_at", sa.BigInteger()))
    op.create_index(
        "ix_users_paused",
        "users",
        ["id"],
        sqlite_where=sa.text("is_paused"),
        postgresql_where=sa.text("is_paused"),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
