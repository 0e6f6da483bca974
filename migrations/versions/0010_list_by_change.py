"""An index for the list of a project's tickets by latest change."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    live = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_tickets_live_updated",
        "tickets",
        ["project_id", "updated_at", "id"],
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
