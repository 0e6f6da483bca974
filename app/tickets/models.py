"""Tickets, their labels, relations, watchers and comments."""

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.etag import etag
from app.database.columns import Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class TicketType(StrEnum):
    """The three levels of the hierarchy."""

    EPIC = "epic"
    STORY = "story"
    SUBTASK = "subtask"


class Priority(StrEnum):
    """How urgent a ticket is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


class RelationType(StrEnum):
    """What one ticket is to another."""

    BLOCKS = "blocks"
    RELATES_TO = "relates_to"
    DUPLICATES = "duplicates"


# What boards order by, word for word as an index has it: databases match no parameters.
RANK_SQL = (
    "CASE priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2"
    " WHEN 'low' THEN 3 ELSE 9 END"
)
DUE_SQL = "coalesce(due_date, '9999-99-99')"


# Most tickets have none, and those are found by other columns.
HAS_PARENT = "parent_ticket_id IS NOT NULL"


def _live_index(name: str, *columns: str, only: str = "") -> Index:
    """An index over live tickets in list order, newest first by (created_at, id)."""
    live = text("deleted_at IS NULL" + (f" AND {only}" if only else ""))
    return Index(
        f"ix_tickets_live_{name}",
        *columns,
        "created_at",
        "id",
        sqlite_where=live,
        postgresql_where=live,
    )


class Ticket(Base):
    """An epic, a story or a subtask."""

    __tablename__ = "tickets"
    __table_args__ = (
        one_of("type", TicketType),
        one_of("priority", Priority),
        UniqueConstraint("project_id", "ticket_number"),
        _live_index("all"),
        _live_index("project", "project_id"),
        _live_index("state", "state_id"),
        _live_index("assignee", "assignee_user_id"),
        _live_index("reporter", "reporter_user_id"),
        _live_index("parent", "parent_ticket_id", only=HAS_PARENT),
        # Of a hundred tickets a few are epics. The type is a column of it, too, for the planner to
        # prefer it to the project's.
        Index(
            "ix_tickets_live_epics",
            "project_id",
            "type",
            "created_at",
            "id",
            sqlite_where=text("deleted_at IS NULL AND type = 'epic'"),
            postgresql_where=text("deleted_at IS NULL AND type = 'epic'"),
        ),
        # All by which a board counts and orders, so that it reads no ticket that it does not show.
        Index(
            "ix_tickets_board",
            "project_id",
            "state_id",
            "type",
            "priority",
            "due_date",
            "updated_at",
            "id",
            # Always null here; without it SQLite would read the ticket to see that.
            "deleted_at",
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
        # The order of a board's columns.
        Index(
            "ix_tickets_board_order",
            "project_id",
            "state_id",
            text(f"({RANK_SQL})"),
            text(DUE_SQL),
            text("updated_at DESC"),
            text("id DESC"),
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
        # For the list of a project by latest change.
        Index(
            "ix_tickets_live_updated",
            "project_id",
            "updated_at",
            "id",
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
        Index(
            None,
            "parent_ticket_id",
            sqlite_where=text(HAS_PARENT),
            postgresql_where=text(HAS_PARENT),
        ),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    ticket_number: Mapped[int]
    display_id: Mapped[str] = mapped_column(short_text(32), unique=True)
    type: Mapped[str] = mapped_column(short_text(8))
    title: Mapped[str] = mapped_column(short_text())
    body: Mapped[str] = mapped_column(Text)
    # Null only where a deleted ticket's state was deleted since.
    state_id: Mapped[str | None] = mapped_column(
        Id, ForeignKey("workflow_states.id", ondelete="SET NULL")
    )
    priority: Mapped[str] = mapped_column(short_text(8))
    assignee_user_id: Mapped[str | None] = mapped_column(Id, ForeignKey("users.id"))
    reporter_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    parent_ticket_id: Mapped[str | None] = mapped_column(Id, ForeignKey("tickets.id"))
    due_date: Mapped[str | None] = mapped_column(short_text(10))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    deleted_at: Mapped[int | None] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_deleted(self) -> bool:
        """Whether the ticket was deleted."""
        return self.deleted_at is not None

    @property
    def etag(self) -> str:
        """The weak ETag of this version."""
        return etag(self.updated_at, self.id)


class TicketLabel(Base):
    """A label on a ticket."""

    __tablename__ = "ticket_labels"
    __table_args__ = (Index(None, "label_id"),)

    ticket_id: Mapped[str] = mapped_column(
        Id, ForeignKey("tickets.id", ondelete="CASCADE"), primary_key=True
    )
    label_id: Mapped[str] = mapped_column(
        Id, ForeignKey("labels.id", ondelete="CASCADE"), primary_key=True
    )


class TicketRelation(Base):
    """A typed edge from one ticket to another."""

    __tablename__ = "ticket_relations"
    __table_args__ = (
        one_of("type", RelationType),
        CheckConstraint("source_ticket_id <> target_ticket_id", name="two_ends"),
        UniqueConstraint("source_ticket_id", "target_ticket_id", "type"),
        Index(None, "target_ticket_id", "type"),
    )

    id: Mapped[str] = id_key()
    type: Mapped[str] = mapped_column(short_text(16))
    source_ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    target_ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)


class TicketWatcher(Base):
    """A user's subscription to a ticket."""

    __tablename__ = "ticket_watchers"
    __table_args__ = (Index(None, "user_id"),)

    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    created_at: Mapped[int] = mapped_column(Moment)


class Comment(Base):
    """A Markdown comment on a ticket, with the bodies it had before."""

    __tablename__ = "comments"
    __table_args__ = (Index(None, "ticket_id", "created_at", "id"),)

    id: Mapped[str] = id_key()
    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    author_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    body: Mapped[str] = mapped_column(Text)
    # [{body, edited_at (ms)}], oldest first.
    edit_history: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    deleted_at: Mapped[int | None] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_deleted(self) -> bool:
        """Whether the comment was deleted."""
        return self.deleted_at is not None


class ImportedIssue(Base):
    """Which ticket an imported issue became, so that importing again adds nothing twice."""

    __tablename__ = "imported_issues"
    __table_args__ = (UniqueConstraint("project_id", "external_id"),)

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    external_id: Mapped[str] = mapped_column(short_text())
    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    created_at: Mapped[int] = mapped_column(Moment)


class SavedView(Base):
    """A person's named filter of a board or list: the query string, of a project or of all."""

    __tablename__ = "saved_views"
    __table_args__ = (
        Index(
            "uq_saved_views_in_project",
            "user_id",
            "project_id",
            "name",
            unique=True,
            sqlite_where=text("project_id IS NOT NULL"),
            postgresql_where=text("project_id IS NOT NULL"),
        ),
        Index(
            "uq_saved_views_everywhere",
            "user_id",
            "name",
            unique=True,
            sqlite_where=text("project_id IS NULL"),
            postgresql_where=text("project_id IS NULL"),
        ),
    )

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    project_id: Mapped[str | None] = mapped_column(Id, ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(short_text(80))
    query: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Moment)
