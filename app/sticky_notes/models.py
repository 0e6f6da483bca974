"""Sticky notes."""

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, Moment, id_key, short_text
from app.database.session import Base


class StickyNote(Base):
    """A note; ``project_id`` null means personal. Deletion is permanent."""

    __tablename__ = "sticky_notes"
    __table_args__ = (
        Index(None, "project_id", "created_at", "id"),
        Index(None, "created_by_user_id", "created_at", "id"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str | None] = mapped_column(Id, ForeignKey("projects.id"))
    body: Mapped[str] = mapped_column(Text)
    color: Mapped[str | None] = mapped_column(short_text(7))
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    converted_to_ticket_id: Mapped[str | None] = mapped_column(Id, ForeignKey("tickets.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_personal(self) -> bool:
        return self.project_id is None
