"""Wiki pages with their revisions and links, and sticky notes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "wiki_pages",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=True),
        sa.Column("slug", sa.String(128), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("updated_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
    )
    op.create_index("ix_wiki_pages_slug", "wiki_pages", ["slug"])
    op.create_index("ix_wiki_pages_created_at_id", "wiki_pages", ["created_at", "id"])
    op.create_index(
        "ix_wiki_pages_project_id_created_at_id", "wiki_pages", ["project_id", "created_at", "id"]
    )
    in_project = sa.text("deleted_at IS NULL AND project_id IS NOT NULL")
    op.create_index(
        "uq_wiki_pages_project_slug",
        "wiki_pages",
        ["project_id", "slug"],
        unique=True,
        sqlite_where=in_project,
        postgresql_where=in_project,
    )
    everywhere = sa.text("deleted_at IS NULL AND project_id IS NULL")
    op.create_index(
        "uq_wiki_pages_global_slug",
        "wiki_pages",
        ["slug"],
        unique=True,
        sqlite_where=everywhere,
        postgresql_where=everywhere,
    )
    op.create_table(
        "wiki_revisions",
        sa.Column("id", ID, primary_key=True),
        sa.Column("page_id", ID, sa.ForeignKey("wiki_pages.id"), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("summary", sa.String(200), nullable=False),
        sa.Column("author_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("page_id", "revision_number"),
    )
    op.create_index(
        "ix_wiki_revisions_page_id_created_at_id", "wiki_revisions", ["page_id", "created_at", "id"]
    )
    op.create_table(
        "wiki_links",
        sa.Column("id", ID, primary_key=True),
        sa.Column("page_id", ID, sa.ForeignKey("wiki_pages.id"), nullable=False),
        sa.Column("target_slug", sa.String(128), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.UniqueConstraint("page_id", "target_slug"),
    )
    op.create_index("ix_wiki_links_target_slug", "wiki_links", ["target_slug"])
    op.create_index("ix_wiki_links_created_at_id", "wiki_links", ["created_at", "id"])
    op.create_table(
        "wiki_ticket_links",
        sa.Column("page_id", ID, sa.ForeignKey("wiki_pages.id"), primary_key=True),
        sa.Column("display_id", sa.String(32), primary_key=True),
    )
    op.create_index("ix_wiki_ticket_links_display_id", "wiki_ticket_links", ["display_id"])
    op.create_table(
        "sticky_notes",
        sa.Column("id", ID, primary_key=True),
        sa.Column("project_id", ID, sa.ForeignKey("projects.id"), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("color", sa.String(7), nullable=True),
        sa.Column("created_by_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("converted_to_ticket_id", ID, sa.ForeignKey("tickets.id"), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
    )
    op.create_index(
        "ix_sticky_notes_project_id_created_at_id",
        "sticky_notes",
        ["project_id", "created_at", "id"],
    )
    op.create_index(
        "ix_sticky_notes_created_by_user_id_created_at_id",
        "sticky_notes",
        ["created_by_user_id", "created_at", "id"],
    )


def downgrade() -> None:
    raise RuntimeError("Docket's schema only goes forward; restore a backup instead.")
