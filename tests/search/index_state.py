"""The content of the index, and what is pending."""

from sqlalchemy import text as sql

from app.database.session import is_postgresql, reading, run_write, session
from tests.support.story import ok


def pending_rows():
    """Return how much is pending; PostgreSQL counts pages, and flushes them."""
    if is_postgresql():
        clean = sql("SELECT gin_clean_pending_list('ix_search_fts_terms')")
        return run_write(lambda: session.scalar(clean))
    with reading():
        return session.scalar(sql("SELECT count(*) FROM search_fts_waiting"))


def found(cast, q):
    rows = ok(cast.ada.get("/search", query_string={"q": q}))["data"]
    return [row["title"] for row in rows]


def stored_terms(document_id):
    """Return the index's terms of the document."""
    if is_postgresql():
        found = session.scalar(
            sql("SELECT terms FROM search_fts WHERE place = :at"), {"at": document_id}
        )
        return set(found.split())
    statement = sql("SELECT words, marks FROM search_fts WHERE rowid = :at")
    row = session.execute(statement, {"at": document_id}).one()
    return row.words, frozenset(row.marks.split())
