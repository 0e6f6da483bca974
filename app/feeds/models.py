"""People's subscriptions to calendar and activity feeds."""

from enum import StrEnum

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, Moment, id_key, short_text
from app.database.session import Base


class FeedKind(StrEnum):
    """Due dates as iCalendar, or a project's activity as Atom."""

    CALENDAR = "calendar"
    ACTIVITY = "activity"


class Feed(Base):
    """The address of a feed; the token in it is stored hashed. It shows what its owner sees."""

    __tablename__ = "feeds"
    __table_args__ = (Index(None, "user_id"),)

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    kind: Mapped[str] = mapped_column(short_text(16))
    # None means the tickets assigned to the owner, in all projects.
    project_id: Mapped[str | None] = mapped_column(Id, ForeignKey("projects.id"))
    token_hash: Mapped[str] = mapped_column(short_text(64), unique=True)
    created_at: Mapped[int] = mapped_column(Moment)
