"""Document ids: each document has one, given in the order of their making, and keeps it."""

from sqlalchemy import BigInteger, bindparam, text

from app.database.columns import Id
from app.database.session import Prepared
from app.search.documents import SearchDoc

# Of two that put the same document at once, the second waits here and finds it.
ADD = (
    "INSERT INTO search_docs (id, kind) VALUES (:id, :kind) "
    "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind RETURNING place"
)
_ADD = Prepared(text(ADD).bindparams(bindparam("id", type_=Id)).columns(place=BigInteger))


def added(doc: SearchDoc) -> int:
    """The document id of a document, made if it has none."""
    document_id: int = _ADD.all(id=doc.id, kind=str(doc.kind))[0].place
    return document_id
