"""On SQLite a search asks which words begin so, before it looks for a beginning.

A virtual table: it reads the index and stores nothing.
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE search_fts_vocabulary USING fts5vocab('search_fts', 'instance')"
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
