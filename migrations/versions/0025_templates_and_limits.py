"""Templates of tickets, limits of columns, and saved views that a project shares."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "ticket_templates",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("name_key", sa.String(240), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("priority", sa.String(8), nullable=False),
        sa.Column("label_ids", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.CheckConstraint("type IN ('epic', 'story', 'subtask')", name="type"),
        sa.CheckConstraint("priority IN ('low', 'medium', 'high', 'urgent')", name="priority"),
        sa.UniqueConstraint("project_id", "name_key"),
    )
    op.add_column("workflow_states", sa.Column("wip_limit", sa.Integer()))
    op.add_column(
        "saved_views",
        sa.Column("is_shared", sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
