"""An index that holds all by which a board counts and orders tickets."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    live = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_tickets_board",
        "tickets",
        [
            "project_id",
            "state_id",
            "type",
            "priority",
            "due_date",
            "updated_at",
            "id",
            # Always null here; without it SQLite would read the ticket to see that.
            "deleted_at",
        ],
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
