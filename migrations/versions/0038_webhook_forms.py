"""Webhooks that write to chats, and webhooks of some projects."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "webhooks",
        sa.Column("form", sa.String(16), nullable=False, server_default=sa.text("'json'")),
    )
    op.add_column(
        "webhooks",
        sa.Column("project_ids", sa.JSON(), nullable=False, server_default=sa.text("'[]'")),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
