"""Indexes in the orders of ticket lists."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

LIVE = sa.text("deleted_at IS NULL")
DUE = sa.text("(coalesce(due_date, '9999-99-99'))")
LEVEL = sa.text(
    "(CASE priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END)"
)


def upgrade() -> None:
    for name, *columns in (
        ("due", "project_id", DUE, "id"),
        ("priority", "project_id", LEVEL, "id"),
        ("all_rank", "rank", "id"),
        ("all_updated", "updated_at", "id"),
        ("all_due", DUE, "id"),
        ("all_priority", LEVEL, "id"),
    ):
        op.create_index(
            f"ix_tickets_live_{name}",
            "tickets",
            columns,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
