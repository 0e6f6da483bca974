"""An index of epics in list order: of a hundred tickets a few are epics, and they are asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    live = sa.text("deleted_at IS NULL AND type = 'epic'")
    op.create_index(
        "ix_tickets_live_epics",
        "tickets",
        ["project_id", "type", "created_at", "id"],
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
