"""Files on tickets, comments and wiki pages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "file_contents",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )
    content = "file_contents.sha256"
    op.create_table(
        "files",
        sa.Column("id", ID, primary_key=True),
        sa.Column("sha256", sa.String(64), sa.ForeignKey(content), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("media_type", sa.String(100), nullable=False),
        sa.Column("thumbnail_sha256", sa.String(64), sa.ForeignKey(content)),
        sa.Column("width", sa.Integer()),
        sa.Column("height", sa.Integer()),
        sa.Column("uploader_user_id", ID, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("ticket_id", ID, sa.ForeignKey("tickets.id")),
        sa.Column("comment_id", ID, sa.ForeignKey("comments.id")),
        sa.Column("page_id", ID, sa.ForeignKey("wiki_pages.id")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(ticket_id IS NULL) <> (page_id IS NULL)", name="one_place"),
    )
    op.create_index("ix_files_ticket_id_created_at_id", "files", ["ticket_id", "created_at", "id"])
    op.create_index("ix_files_page_id_created_at_id", "files", ["page_id", "created_at", "id"])
    op.create_index("ix_files_sha256", "files", ["sha256"])
    op.create_index("ix_files_thumbnail_sha256", "files", ["thumbnail_sha256"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
