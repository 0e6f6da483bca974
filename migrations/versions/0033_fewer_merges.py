"""On SQLite the index merges its segments less often.

Merging took more than a third of what a new document costs, while all other writers waited.
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("INSERT INTO search_fts (search_fts, rank) VALUES ('automerge', 16)")


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
