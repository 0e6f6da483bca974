"""What must not be used twice."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Moment, short_text
from app.database.session import Base


class UsedToken(Base):
    """The state of a login or the id of a logout token, hashed, until it would be too old."""

    __tablename__ = "used_tokens"
    __table_args__ = (Index(None, "expires_at"),)

    token_hash: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    expires_at: Mapped[int] = mapped_column(Moment)
