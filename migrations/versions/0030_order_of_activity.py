"""Indexes in the order of a ticket's last activity."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

LIVE = sa.text("deleted_at IS NULL")
ACTIVE = sa.text("(CASE WHEN discussed_at > updated_at THEN discussed_at ELSE updated_at END)")


def upgrade() -> None:
    for name, *columns in (("active", "project_id", ACTIVE, "id"), ("all_active", ACTIVE, "id")):
        op.create_index(
            f"ix_tickets_live_{name}",
            "tickets",
            columns,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
