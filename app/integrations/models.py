"""Integrations with code hosts, and what they delivered."""

from enum import StrEnum

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Count, Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class Forge(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    FORGEJO = "forgejo"


class Integration(Base):
    """A code host that delivers events to Docket, and the bot that it acts as."""

    __tablename__ = "code_connections"
    __table_args__ = (one_of("forge", Forge), Index(None, "created_at", "id"))

    id: Mapped[str] = id_key()
    name: Mapped[str] = mapped_column(short_text())
    forge: Mapped[str] = mapped_column(short_text(16))
    sealed_secret: Mapped[bytes] = mapped_column(LargeBinary)
    # The bot's projects are those that the integration may change.
    bot_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), unique=True)
    # By project id: the state that a merge moves fixed tickets into.
    on_merge: Mapped[dict[str, str]] = mapped_column(JSON)
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}


class CodeDelivery(Base):
    """An accepted delivery, so that repeating it does nothing."""

    __tablename__ = "code_deliveries"
    __table_args__ = (
        UniqueConstraint("connection_id", "fingerprint"),
        Index(None, "connection_id", "created_at", "id"),
        Index(None, "created_at"),
    )

    id: Mapped[str] = id_key()
    # No foreign key here and below: sweeps delete the rows of deleted integrations.
    connection_id: Mapped[str] = mapped_column(Id)
    fingerprint: Mapped[str] = mapped_column(short_text(64))
    event: Mapped[str] = mapped_column(short_text(64))
    # What the delivery did, in words.
    outcome: Mapped[str] = mapped_column(short_text())
    created_at: Mapped[int] = mapped_column(Moment)


class CodeChange(Base):
    """A pull request, branch or commit: its newest known state, and its tickets."""

    __tablename__ = "code_changes"
    __table_args__ = (
        UniqueConstraint("external_id"),
        Index(None, "connection_id", "head"),
        Index(None, "updated_at"),
    )

    id: Mapped[str] = id_key()
    connection_id: Mapped[str] = mapped_column(Id)
    external_id: Mapped[str] = mapped_column(short_text())
    url: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(short_text())
    kind: Mapped[str] = mapped_column(short_text(16))
    state: Mapped[str | None] = mapped_column(short_text(8))
    author: Mapped[str | None] = mapped_column(short_text())
    # The commit whose checks count.
    head: Mapped[str | None] = mapped_column(short_text(64))
    # Sorts by bytes; the greater of two deliveries is the newer one.
    version: Mapped[str] = mapped_column(Text)
    # The tickets that it was linked to and that its merge moved; each happens only once.
    ticket_ids: Mapped[list[str]] = mapped_column(JSON)
    moved_ticket_ids: Mapped[list[str]] = mapped_column(JSON)
    updated_at: Mapped[int] = mapped_column(Moment)


class CodeCheck(Base):
    """The newest result of one check of a commit."""

    __tablename__ = "code_checks"
    __table_args__ = (
        UniqueConstraint("connection_id", "commit", "context"),
        Index(None, "updated_at"),
    )

    id: Mapped[str] = id_key()
    connection_id: Mapped[str] = mapped_column(Id)
    # The repository and the commit's hash.
    commit: Mapped[str] = mapped_column(short_text())
    context: Mapped[str] = mapped_column(short_text())
    checks: Mapped[str] = mapped_column(short_text(8))
    # Deliveries are ordered by run, then time, then result.
    run: Mapped[int] = mapped_column(Count)
    at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
