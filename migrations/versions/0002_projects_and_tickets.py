"""Projects with their boards and labels; tickets and everything that hangs on them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()
LIVE = sa.text("deleted_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", ID, primary_key=True),
        sa.Column("key", sa.String(10), nullable=False, unique=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("ticket_counter", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
    )
    op.create_index("ix_projects_created_at_id", "projects", ["created_at", "id"])
    op.create_table(
        "workflow_states",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("name_key", sa.String(600), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("category", sa.String(16), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.UniqueConstraint("project_id", "name_key"),
        sa.CheckConstraint("category IN ('backlog', 'active', 'done')", name="category"),
    )
    op.create_index(
        "ix_workflow_states_project_id_position", "workflow_states", ["project_id", "position"]
    )
    op.create_table(
        "labels",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("name_key", sa.String(600), nullable=False),
        sa.Column("color", sa.String(7), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.UniqueConstraint("project_id", "name_key"),
    )
    op.create_index(
        "ix_labels_project_id_created_at_id", "labels", ["project_id", "created_at", "id"]
    )
    op.create_table(
        "tickets",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("ticket_number", sa.Integer(), nullable=False),
        sa.Column("display_id", sa.String(32), nullable=False, unique=True),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column(
            "state_id", ID, sa.ForeignKey("workflow_states.id", ondelete="SET NULL"), nullable=True
        ),
        sa.Column("priority", sa.String(8), nullable=False),
        sa.Column("assignee_user_id", ID, sa.ForeignKey("users.id"), nullable=True),
        sa.Column("reporter_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("parent_ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=True),
        sa.Column("due_date", sa.String(10), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.UniqueConstraint("project_id", "ticket_number"),
        sa.CheckConstraint("priority IN ('low', 'medium', 'high', 'urgent')", name="priority"),
        sa.CheckConstraint("type IN ('epic', 'story', 'subtask')", name="type"),
    )
    op.create_index(
        "ix_tickets_live_all",
        "tickets",
        ["created_at", "id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )
    op.create_index(
        "ix_tickets_live_assignee",
        "tickets",
        ["assignee_user_id", "created_at", "id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )
    op.create_index(
        "ix_tickets_live_project",
        "tickets",
        ["project_id", "created_at", "id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )
    op.create_index(
        "ix_tickets_live_reporter",
        "tickets",
        ["reporter_user_id", "created_at", "id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )
    op.create_index(
        "ix_tickets_live_state",
        "tickets",
        ["state_id", "created_at", "id"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )
    op.create_index("ix_tickets_parent_ticket_id", "tickets", ["parent_ticket_id"])
    op.create_table(
        "ticket_labels",
        sa.Column(
            "ticket_id", ID, sa.ForeignKey("tickets.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("label_id", ID, sa.ForeignKey("labels.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("ix_ticket_labels_label_id", "ticket_labels", ["label_id"])
    op.create_table(
        "ticket_relations",
        sa.Column("id", ID, primary_key=True),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("source_ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=False),
        sa.Column("target_ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=False),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("source_ticket_id", "target_ticket_id", "type"),
        sa.CheckConstraint("source_ticket_id <> target_ticket_id", name="two_ends"),
        sa.CheckConstraint("type IN ('blocks', 'relates_to', 'duplicates')", name="type"),
    )
    op.create_index(
        "ix_ticket_relations_target_ticket_id_type",
        "ticket_relations",
        ["target_ticket_id", "type"],
    )
    op.create_table(
        "ticket_watchers",
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id"), primary_key=True),
        sa.Column("user_id", ID, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_index("ix_ticket_watchers_user_id", "ticket_watchers", ["user_id"])
    op.create_table(
        "comments",
        sa.Column("id", ID, primary_key=True),
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=False),
        sa.Column("author_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("edit_history", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
    )
    op.create_index(
        "ix_comments_ticket_id_created_at_id", "comments", ["ticket_id", "created_at", "id"]
    )
    op.create_table(
        "imported_issues",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("external_id", sa.String(200), nullable=False),
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("project_id", "external_id"),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
