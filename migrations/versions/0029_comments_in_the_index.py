"""Comments are searched: where there are any, the next start builds the index anew."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    commented = op.get_bind().exec_driver_sql(
        "SELECT 1 FROM comments WHERE deleted_at IS NULL LIMIT 1"
    )
    if commented.first() is None:
        return
    # A server that starts with an empty index builds it.
    op.execute("DELETE FROM search_docs")
    op.execute("DELETE FROM search_fts")
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DELETE FROM search_fts_waiting")


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
