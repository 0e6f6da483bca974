"""An index of the events of tickets by time, without the calls of bots, which are most events."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    has_ticket = sa.text("ticket_id IS NOT NULL")
    op.create_index(
        "ix_audit_events_of_tickets",
        "audit_events",
        ["created_at", "id"],
        sqlite_where=has_ticket,
        postgresql_where=has_ticket,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
