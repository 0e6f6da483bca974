"""An index in the order of a board's columns, so that a column's first cards are read alone."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    live = sa.text("deleted_at IS NULL")
    op.create_index(
        "ix_tickets_board_order",
        "tickets",
        [
            "project_id",
            "state_id",
            sa.text(
                "(CASE priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2"
                " WHEN 'low' THEN 3 ELSE 9 END)"
            ),
            sa.text("coalesce(due_date, '9999-99-99')"),
            sa.text("updated_at DESC"),
            sa.text("id DESC"),
        ],
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
