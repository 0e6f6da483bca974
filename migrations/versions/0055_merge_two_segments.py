"""On SQLite two segments of the index are enough to be merged while nothing is pending."""

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("INSERT INTO search_fts (search_fts, rank) VALUES ('usermerge', 2)")


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
