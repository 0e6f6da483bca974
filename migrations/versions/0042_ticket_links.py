"""Links of tickets."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "ticket_links",
        sa.Column("id", ID, primary_key=True),
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(8)),
        sa.Column("checks", sa.String(8)),
        sa.Column("author", sa.String(200)),
        sa.Column("external_id", sa.String(200)),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("kind IN ('link', 'branch', 'commit', 'pull_request')", name="kind"),
        sa.CheckConstraint("state IN ('open', 'draft', 'merged', 'closed')", name="state"),
        sa.CheckConstraint("checks IN ('pending', 'passing', 'failing')", name="checks"),
    )
    op.create_index(
        "ix_ticket_links_ticket_id_created_at_id", "ticket_links", ["ticket_id", "created_at", "id"]
    )
    condition = sa.text("external_id IS NOT NULL")
    op.create_index(
        "ix_ticket_links_external_id",
        "ticket_links",
        ["external_id", "ticket_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
