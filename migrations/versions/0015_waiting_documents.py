"""Documents that were just put wait beside the full-text index, and go in many at a time.

And the mark of wiki pages gets another name: SQLite took what stood behind its ``_`` for a word, so
that each page was found by the word "page".
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

OLD = "\u00a2wiki_page"
NEW = "\u00a2wiki\u00b7page"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"UPDATE search_fts SET terms = ts_delete(terms, '{OLD}') || $$'{NEW}'$$::tsvector "
            "FROM search_docs WHERE search_docs.place = search_fts.place AND kind = 'wiki_page'"
        )
        # In kB: about three hundred documents; the write that exceeds it takes them in.
        op.execute(
            "ALTER INDEX ix_search_fts_terms SET (fastupdate = on, gin_pending_list_limit = 4096)"
        )
    else:
        op.execute(
            f"UPDATE search_fts SET marks = replace(marks, '{OLD}', '{NEW}') "
            "WHERE rowid IN (SELECT place FROM search_docs WHERE kind = 'wiki_page')"
        )
        op.execute(
            "CREATE TABLE search_fts_waiting (place INTEGER PRIMARY KEY, "
            "version INTEGER NOT NULL, process INTEGER NOT NULL)"
        )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
