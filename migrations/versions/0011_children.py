"""An index for the children of a ticket in list order."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    live = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_tickets_live_parent",
        "tickets",
        ["parent_ticket_id", "created_at", "id"],
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
