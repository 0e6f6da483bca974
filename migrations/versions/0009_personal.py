"""What is one person's own: how far they have read, the views they saved, their preferences."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "read_markers",
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        sa.Column("event_id", ID, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_table(
        "preferences",
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("choices", sa.JSON(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_table(
        "saved_views",
        sa.Column("id", ID, primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=True),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    # A view of all projects has none; both databases hold nulls for different in a plain index.
    op.create_index(
        "uq_saved_views_in_project",
        "saved_views",
        ["user_id", "project_id", "name"],
        unique=True,
        sqlite_where=sa.text("project_id IS NOT NULL"),
        postgresql_where=sa.text("project_id IS NOT NULL"),
    )
    op.create_index(
        "uq_saved_views_everywhere",
        "saved_views",
        ["user_id", "name"],
        unique=True,
        sqlite_where=sa.text("project_id IS NULL"),
        postgresql_where=sa.text("project_id IS NULL"),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
