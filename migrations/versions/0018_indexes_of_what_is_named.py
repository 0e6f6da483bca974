"""Indexes by parent, ticket and project hold only the rows that have one.

Most tickets have no parent, and calls of tools no ticket or project: each such row cost a page or
two of the log of SQLite, and an entry of each index on PostgreSQL, by which nothing is ever found.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _only_where("ix_tickets_parent_ticket_id", "tickets", ["parent_ticket_id"])
    _only_where(
        "ix_tickets_live_parent",
        "tickets",
        ["parent_ticket_id", "created_at", "id"],
        "deleted_at IS NULL AND ",
    )
    _only_where(
        "ix_audit_events_ticket_id_created_at_id",
        "audit_events",
        ["ticket_id", "created_at", "id"],
    )
    _only_where(
        "ix_audit_events_project_id_category_created_at_id",
        "audit_events",
        ["project_id", "category", "created_at", "id"],
    )


def _only_where(name: str, table: str, columns: list[str], more: str = "") -> None:
    """Make the index anew, of the rows whose first column holds something."""
    op.drop_index(name, table)
    named = sa.text(f"{more}{columns[0]} IS NOT NULL")
    op.create_index(name, table, columns, sqlite_where=named, postgresql_where=named)


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
