"""The documents of the index and their ids. Their terms are in ``search_fts`` of each database."""

from sqlalchemy import BigInteger, Integer, bindparam, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, short_text
from app.database.session import Base, Prepared
from app.search.documents import SearchDoc


class SearchDocument(Base):
    """A ticket or page in the index, and the document id under which its terms are stored."""

    __tablename__ = "search_docs"

    # Grows with each new document, so that the newest documents have the largest ids.
    document_id: Mapped[int] = mapped_column(
        "place",
        BigInteger().with_variant(Integer, "sqlite"),
        key="document_id",
        primary_key=True,
        autoincrement=True,
    )
    # Of the ticket or page.
    id: Mapped[str] = mapped_column(Id, unique=True)
    kind: Mapped[str] = mapped_column(short_text(16))


# If two transactions insert the same document, the second waits here and gets the first one's id.
INSERT = (
    "INSERT INTO search_docs (id, kind) VALUES (:id, :kind) "
    "ON CONFLICT (id) DO UPDATE SET kind = excluded.kind RETURNING place"
)
_INSERT = Prepared(text(INSERT).bindparams(bindparam("id", type_=Id)).columns(place=BigInteger))


def assign_document_id(doc: SearchDoc) -> int:
    """The document id of a document; a new one if it has none."""
    document_id: int = _INSERT.all(id=doc.id, kind=str(doc.kind))[0].place
    return document_id
