"""Tickets, their labels, relations, links, watchers and comments."""

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Text,
    TextClause,
    UniqueConstraint,
    false,
    literal_column,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.core.etag import etag
from app.database.columns import (
    Id,
    Moment,
    id_key,
    index_of_bodies_with_files,
    one_of,
    short_text,
)
from app.database.session import Base


class TicketType(StrEnum):
    EPIC = "epic"
    STORY = "story"
    SUBTASK = "subtask"


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    URGENT = "urgent"


class Reaction(StrEnum):
    """The reactions to a comment, in the order shown."""

    THUMBS_UP = "thumbs_up"
    THUMBS_DOWN = "thumbs_down"
    LAUGH = "laugh"
    HOORAY = "hooray"
    HEART = "heart"
    EYES = "eyes"


class RelationType(StrEnum):
    BLOCKS = "blocks"
    RELATES_TO = "relates_to"
    DUPLICATES = "duplicates"


class LinkKind(StrEnum):
    LINK = "link"
    BRANCH = "branch"
    COMMIT = "commit"
    PULL_REQUEST = "pull_request"


class LinkState(StrEnum):
    """The progress of a pull request; null if the link has no state, or none that is known."""

    OPEN = "open"
    DRAFT = "draft"
    MERGED = "merged"
    CLOSED = "closed"


class LinkChecks(StrEnum):
    PENDING = "pending"
    PASSING = "passing"
    FAILING = "failing"


_LIVE = "deleted_at IS NULL"
# Most tickets have no parent, and those are found through other columns.
_HAS_PARENT = "parent_ticket_id IS NOT NULL"


# Must be written exactly as in the indexes, or lists do not use them.
DUE_OR_LAST = "coalesce(tickets.due_date, '9999-99-99')"
PRIORITY_LEVEL = (
    "CASE tickets.priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END"
)
# The later of a ticket's own change and that of its comments and relations, in milliseconds.
LAST_ACTIVE = (
    "CASE WHEN tickets.discussed_at > tickets.updated_at THEN tickets.discussed_at"
    " ELSE tickets.updated_at END"
)


# The same texts as expressions.
DUE_DATE_OR_LAST: ColumnElement[str] = literal_column(DUE_OR_LAST, Text)
NO_DUE_DATE: ColumnElement[str] = literal_column("'9999-99-99'", Text)
LEVEL_OF_PRIORITY: ColumnElement[int] = literal_column(PRIORITY_LEVEL, Integer)


def _partial_index(
    name: str | None, where: str, *columns: str | TextClause, unique: bool = False
) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _live_index(name: str, *columns: str, only: str = "") -> Index:
    """An index over live tickets in list order, newest first by (created_at, id)."""
    where = f"{_LIVE} AND {only}" if only else _LIVE
    return _partial_index(f"ix_tickets_live_{name}", where, *columns, "created_at", "id")


_DUE, _LEVEL, _ACTIVE = (
    text(f"({expression.replace('tickets.', '')})")
    for expression in (DUE_OR_LAST, PRIORITY_LEVEL, LAST_ACTIVE)
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
        _live_index("parent", "parent_ticket_id", only=_HAS_PARENT),
        # Few tickets are epics. The type is also a column, or the planner prefers the project's
        # index.
        _live_index("epics", "project_id", "type", only="type = 'epic'"),
        # Covers a board's counts and orders, so that the board reads only the tickets it shows.
        _partial_index(
            "ix_tickets_board",
            _LIVE,
            "project_id",
            "state_id",
            "type",
            "priority",
            "due_date",
            "updated_at",
            "id",
            # Always null here; without it, SQLite reads the ticket to check that.
            "deleted_at",
        ),
        # The order inside a board's column, and of the whole project.
        _partial_index("ix_tickets_board_order", _LIVE, "project_id", "state_id", "rank", "id"),
        _partial_index("ix_tickets_live_rank", _LIVE, "project_id", "rank", "id"),
        # Lists by latest change or activity, due date and priority; all orders across projects.
        _partial_index("ix_tickets_live_updated", _LIVE, "project_id", "updated_at", "id"),
        _partial_index("ix_tickets_live_due", _LIVE, "project_id", _DUE, "id"),
        _partial_index("ix_tickets_live_priority", _LIVE, "project_id", _LEVEL, "id"),
        _partial_index("ix_tickets_live_active", _LIVE, "project_id", _ACTIVE, "id"),
        _partial_index("ix_tickets_live_all_rank", _LIVE, "rank", "id"),
        _partial_index("ix_tickets_live_all_updated", _LIVE, "updated_at", "id"),
        _partial_index("ix_tickets_live_all_due", _LIVE, _DUE, "id"),
        _partial_index("ix_tickets_live_all_priority", _LIVE, _LEVEL, "id"),
        _partial_index("ix_tickets_live_all_active", _LIVE, _ACTIVE, "id"),
        _partial_index(None, _HAS_PARENT, "parent_ticket_id"),
        index_of_bodies_with_files("tickets"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    ticket_number: Mapped[int]
    display_id: Mapped[str] = mapped_column(short_text(32), unique=True)
    type: Mapped[str] = mapped_column(short_text(8))
    title: Mapped[str] = mapped_column(short_text())
    body: Mapped[str] = mapped_column(Text)
    # Null only for a deleted ticket whose state was also deleted.
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
    # The place in the manual order of the project (rank.py), compared by bytes.
    rank: Mapped[str] = mapped_column(
        Text().with_variant(Text(collation="C"), "postgresql"), server_default=text("''")
    )
    # The latest change of its comments and relations, 0 for none (discussion.py).
    discussed_at: Mapped[int] = mapped_column(Moment, server_default=text("0"))

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None

    @property
    def etag(self) -> str:
        return etag(self.updated_at, self.id)


class TicketLabel(Base):
    __tablename__ = "ticket_labels"
    __table_args__ = (Index(None, "label_id"),)

    ticket_id: Mapped[str] = mapped_column(
        Id, ForeignKey("tickets.id", ondelete="CASCADE"), primary_key=True
    )
    label_id: Mapped[str] = mapped_column(
        Id, ForeignKey("labels.id", ondelete="CASCADE"), primary_key=True
    )


class TicketRelation(Base):
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


class ExternalLink(Base):
    """An address of the work on a ticket; unique per ticket."""

    __tablename__ = "ticket_links"
    __table_args__ = (
        one_of("kind", LinkKind),
        one_of("state", LinkState),
        one_of("checks", LinkChecks),
        Index(None, "ticket_id", "created_at", "id"),
        _partial_index(
            "ix_ticket_links_external_id", "external_id IS NOT NULL", "external_id", "ticket_id"
        ),
    )

    id: Mapped[str] = id_key()
    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    url: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(short_text())
    kind: Mapped[str] = mapped_column(short_text(16))
    state: Mapped[str | None] = mapped_column(short_text(8))
    checks: Mapped[str | None] = mapped_column(short_text(8))
    # The author's name at the code host.
    author: Mapped[str | None] = mapped_column(short_text())
    # The connection that keeps it up to date, and its id there.
    external_id: Mapped[str | None] = mapped_column(short_text())
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)


class TicketWatcher(Base):
    __tablename__ = "ticket_watchers"
    __table_args__ = (Index(None, "user_id"),)

    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    created_at: Mapped[int] = mapped_column(Moment)


class TicketMute(Base):
    """A ticket that a person keeps out of their inbox."""

    __tablename__ = "ticket_mutes"
    __table_args__ = (Index(None, "user_id"),)

    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    created_at: Mapped[int] = mapped_column(Moment)


class Comment(Base):
    __tablename__ = "comments"
    __table_args__ = (
        Index(None, "ticket_id", "created_at", "id"),
        # Covers which tickets a person last commented on.
        _partial_index(
            "ix_comments_live_author", _LIVE, "author_user_id", "created_at", "ticket_id"
        ),
        index_of_bodies_with_files("comments"),
    )

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
        return self.deleted_at is not None


class CommentReaction(Base):
    __tablename__ = "comment_reactions"
    __table_args__ = (one_of("reaction", Reaction),)

    comment_id: Mapped[str] = mapped_column(Id, ForeignKey("comments.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    reaction: Mapped[str] = mapped_column(short_text(16), primary_key=True)
    created_at: Mapped[int] = mapped_column(Moment)


class ImportedIssue(Base):
    """The ticket that an imported issue became, so that a second import adds no duplicate."""

    __tablename__ = "imported_issues"
    __table_args__ = (UniqueConstraint("project_id", "external_id"),)

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    external_id: Mapped[str] = mapped_column(short_text())
    ticket_id: Mapped[str] = mapped_column(Id, ForeignKey("tickets.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    # Addresses of its files that were missing in the other tracker and are not requested again.
    gone_files: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))


class TicketTemplate(Base):
    """The initial values of a new ticket of a project."""

    __tablename__ = "ticket_templates"
    __table_args__ = (
        one_of("type", TicketType),
        one_of("priority", Priority),
        UniqueConstraint("project_id", "name_key"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(short_text(80))
    # The casefolded name, which is unique. Casefolding can triple the length.
    name_key: Mapped[str] = mapped_column(short_text(240))
    title: Mapped[str] = mapped_column(short_text())
    body: Mapped[str] = mapped_column(Text)
    type: Mapped[str] = mapped_column(short_text(8))
    priority: Mapped[str] = mapped_column(short_text(8))
    # Ids of labels; deleted labels are ignored.
    label_ids: Mapped[list[str]] = mapped_column(JSON)
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}


class SavedView(Base):
    """A person's named query string for a board or list, of one project or (null) of all."""

    __tablename__ = "saved_views"
    __table_args__ = (
        _partial_index(
            "uq_saved_views_in_project",
            "project_id IS NOT NULL",
            "user_id",
            "project_id",
            "name",
            unique=True,
        ),
        _partial_index(
            "uq_saved_views_everywhere", "project_id IS NULL", "user_id", "name", unique=True
        ),
    )

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    project_id: Mapped[str | None] = mapped_column(Id, ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(short_text(80))
    query: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Moment)
    # Shared with everyone who opens the project.
    is_shared: Mapped[bool] = mapped_column(default=False, server_default=false())
