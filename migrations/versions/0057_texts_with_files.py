"""Indexes of the texts that can show files, which a rewind reads while others wait."""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    has_files = sa.text("body LIKE '%/files/%'")
    for table in ("tickets", "comments", "wiki_pages"):
        op.create_index(
            f"ix_{table}_with_files",
            table,
            ["id"],
            sqlite_where=has_files,
            postgresql_where=has_files,
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
