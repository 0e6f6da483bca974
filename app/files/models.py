"""Files and the contents that they share."""

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Count, Id, Moment, id_key, short_text
from app.database.session import Base


class FileContent(Base):
    """A content in the store; ``app/files/store.py`` explains when the row exists."""

    __tablename__ = "file_contents"

    sha256: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    size: Mapped[int] = mapped_column(Count)
    created_at: Mapped[int] = mapped_column(Moment)


class StoredFile(Base):
    """A file on a ticket, on a comment of one, or on a wiki page."""

    __tablename__ = "files"
    __table_args__ = (
        CheckConstraint("(ticket_id IS NULL) <> (page_id IS NULL)", name="one_place"),
        Index(None, "ticket_id", "created_at", "id"),
        Index(None, "page_id", "created_at", "id"),
        Index(None, "sha256"),
        Index(None, "thumbnail_sha256"),
    )

    id: Mapped[str] = id_key()
    sha256: Mapped[str] = mapped_column(short_text(64), ForeignKey("file_contents.sha256"))
    name: Mapped[str] = mapped_column(short_text())
    # The detected type.
    media_type: Mapped[str] = mapped_column(short_text(100))
    # Only for reencoded images.
    thumbnail_sha256: Mapped[str | None] = mapped_column(
        short_text(64), ForeignKey("file_contents.sha256")
    )
    width: Mapped[int | None]
    height: Mapped[int | None]
    uploader_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    # Set for a comment's file too.
    ticket_id: Mapped[str | None] = mapped_column(Id, ForeignKey("tickets.id"))
    comment_id: Mapped[str | None] = mapped_column(Id, ForeignKey("comments.id"))
    page_id: Mapped[str | None] = mapped_column(Id, ForeignKey("wiki_pages.id"))
    created_at: Mapped[int] = mapped_column(Moment)

    @property
    def is_image(self) -> bool:
        return self.thumbnail_sha256 is not None
