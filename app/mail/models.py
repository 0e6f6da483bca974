"""The outbox of mail, which is also its log."""

from enum import StrEnum

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class MailKind(StrEnum):
    """What a mail is about; ``writing.install`` says who writes each."""

    CONFIRM = "confirm"
    CHANGED = "changed"
    RESET = "reset"
    INVITATION = "invitation"
    NOTICE = "notice"
    DIGEST = "digest"


class MailState(StrEnum):
    """Waiting until it is due, or how it ended; ``dropped``: the reason to send it is gone."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    DROPPED = "dropped"


class Mail(Base):
    """A mail to send. It is written when it is sent, so the row holds no text and no secret."""

    __tablename__ = "mails"
    __table_args__ = (
        one_of("kind", MailKind),
        one_of("state", MailState),
        Index(None, "state", "due_at", "id"),
        Index(None, "user_id", "ticket_id", "until"),
        Index(None, "finished_at"),
        Index(None, "created_at", "id"),
    )

    id: Mapped[str] = id_key()
    kind: Mapped[str] = mapped_column(short_text(16))
    address: Mapped[str] = mapped_column(short_text(254))
    # Null until the owner of the address is looked up.
    user_id: Mapped[str | None] = mapped_column(Id, ForeignKey("users.id"))
    # The hash of the token of a link in the mail; the token is derived from SECRET_KEY and the id.
    token_hash: Mapped[str | None] = mapped_column(short_text(64), unique=True)
    # For a notice: its ticket, and the time span of its events.
    ticket_id: Mapped[str | None] = mapped_column(Id)
    since: Mapped[int | None] = mapped_column(Moment)
    until: Mapped[int | None] = mapped_column(Moment)
    state: Mapped[str] = mapped_column(short_text(16))
    # Attempts made, including one in progress.
    attempts: Mapped[int]
    due_at: Mapped[int] = mapped_column(Moment)
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Moment)
    finished_at: Mapped[int | None] = mapped_column(Moment)
