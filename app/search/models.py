"""Which documents the index holds. Their terms are in tables that each database has its own of."""

from sqlalchemy import BigInteger, Integer
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, short_text
from app.database.session import Base


class SearchDocument(Base):
    """A document and its number, by which its terms are stored (``search_fts``)."""

    __tablename__ = "search_docs"

    # Grows with every new document, so the newest stand at the end.
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
