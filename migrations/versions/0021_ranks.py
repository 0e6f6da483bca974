"""Manual order: a rank for each ticket, by priority and number to begin with."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# As app/tickets/rank.py gives one to a new ticket.
_BAND = (
    "CASE priority WHEN 'urgent' THEN '2' WHEN 'high' THEN '4' WHEN 'medium' THEN '6' ELSE '8' END"
)
_LIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    kind = sa.Text() if on_sqlite else sa.Text(collation="C")
    op.add_column("tickets", sa.Column("rank", kind, nullable=False, server_default=sa.text("''")))
    op.add_column("projects", sa.Column("ranks_spread_at", sa.BigInteger()))
    padded = "printf('%010d', ticket_number)" if on_sqlite else "lpad(ticket_number::text, 10, '0')"
    op.execute(f"UPDATE tickets SET rank = {_BAND} || {padded} || 'V'")
    op.drop_index("ix_tickets_board_order", "tickets")
    for name, columns in (
        ("ix_tickets_board_order", ["project_id", "state_id", "rank", "id"]),
        ("ix_tickets_live_rank", ["project_id", "rank", "id"]),
    ):
        op.create_index(name, "tickets", columns, sqlite_where=_LIVE, postgresql_where=_LIVE)


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
