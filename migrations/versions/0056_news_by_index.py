"""Whose event it was and of which type, in the index of the events of tickets."""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

INDEX = "ix_audit_events_of_tickets"


def upgrade() -> None:
    has_ticket = sa.text("ticket_id IS NOT NULL")
    op.drop_index(INDEX, "audit_events")
    op.create_index(
        INDEX,
        "audit_events",
        ["created_at", "id", "actor_user_id", "event_type"],
        sqlite_where=has_ticket,
        postgresql_where=has_ticket,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
