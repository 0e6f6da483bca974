"""Documents that were just put wait beside the full-text index, and go in many at a time."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # What a search reads through at most, in kB: about three hundred documents.
        op.execute(
            "ALTER INDEX ix_search_fts_terms SET (fastupdate = on, gin_pending_list_limit = 4096)"
        )
    else:
        op.execute(
            "CREATE TABLE search_fts_waiting (place INTEGER PRIMARY KEY, "
            "version INTEGER NOT NULL, process INTEGER NOT NULL)"
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
