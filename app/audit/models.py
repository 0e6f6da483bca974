"""The tables of the audit log, which triggers keep append-only, and of the tool log."""

from typing import Any

from sqlalchemy import JSON, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Count, Id, Moment, id_key, short_text
from app.database.session import Base


def _partial(*columns: str) -> Index:
    """An index of the rows whose first column is not null."""
    condition = text(f"{columns[0]} IS NOT NULL")
    return Index(None, *columns, sqlite_where=condition, postgresql_where=condition)


# Targets that a rewind looks up besides tickets: few events, so the index costs little.
HAS_INDEXED_TARGET = text("target_kind IN ('wiki_page', 'sticky_note', 'label')")
_HAS_TICKET = text("ticket_id IS NOT NULL")


class AuditEvent(Base):
    __tablename__ = "audit_events"
    __table_args__ = (
        Index(None, "created_at", "id"),
        _partial("ticket_id", "created_at", "id"),
        _partial("project_id", "category", "created_at", "id"),
        Index(None, "actor_user_id", "created_at", "id"),
        Index(None, "event_type", "created_at", "id"),
        Index(None, "request_id"),
        _partial("tool_invocation_log_id"),
        Index(
            None,
            "target_id",
            "created_at",
            "id",
            sqlite_where=HAS_INDEXED_TARGET,
            postgresql_where=HAS_INDEXED_TARGET,
        ),
        # Events of tickets, without the tool calls of bots, which are most events. The last two
        # columns exclude a bot's own events without reading their rows (inbox/bot_news.py).
        Index(
            "ix_audit_events_of_tickets",
            "created_at",
            "id",
            "actor_user_id",
            "event_type",
            sqlite_where=_HAS_TICKET,
            postgresql_where=_HAS_TICKET,
        ),
    )

    id: Mapped[str] = id_key()
    workspace_id: Mapped[str] = mapped_column(Id)
    category: Mapped[str] = mapped_column(short_text(16))
    event_type: Mapped[str] = mapped_column(short_text(64))
    # No foreign keys, as an event outlives what it refers to.
    actor_user_id: Mapped[str | None] = mapped_column(Id)
    actor_kind: Mapped[str] = mapped_column(short_text(16))
    target_kind: Mapped[str] = mapped_column(short_text(32))
    target_id: Mapped[str | None] = mapped_column(Id)
    project_id: Mapped[str | None] = mapped_column(Id)
    ticket_id: Mapped[str | None] = mapped_column(Id)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    request_id: Mapped[str | None] = mapped_column(Id)
    tool_invocation_log_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[int] = mapped_column(Moment)
    # What the bot had read when it made this change (``activity/receipts.py``).
    receipt: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class ToolInvocation(Base):
    __tablename__ = "tool_invocations"
    __table_args__ = (
        Index(None, "created_at", "id"),
        Index(None, "bot_user_id", "created_at", "id"),
        Index(None, "tool_name", "created_at", "id"),
        Index(None, "request_id"),
    )

    id: Mapped[str] = id_key()
    bot_user_id: Mapped[str] = mapped_column(Id)
    tool_name: Mapped[str] = mapped_column(short_text(128))
    # Redacted and truncated (``core.logs``).
    arguments: Mapped[Any] = mapped_column(JSON)
    # ``ok`` or the code of the error.
    result_status: Mapped[str] = mapped_column(short_text(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    duration_ms: Mapped[int]
    request_id: Mapped[str | None] = mapped_column(Id)
    created_at: Mapped[int] = mapped_column(Moment)
    # Sent by the client with the call: its trace, and the tokens and cost of its model.
    traceparent: Mapped[str | None] = mapped_column(short_text(55))
    usage: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


# One row for each bot, and one for each bot and ticket.
_ALL, _OF_TICKET = text("ticket_id IS NULL"), text("ticket_id IS NOT NULL")


class BotUsage(Base):
    """The usage of a bot's calls as its client reported it, in total or for one ticket."""

    __tablename__ = "bot_usage"
    __table_args__ = (
        Index(
            "uq_bot_usage_bot",
            "bot_user_id",
            unique=True,
            sqlite_where=_ALL,
            postgresql_where=_ALL,
        ),
        Index(
            "uq_bot_usage_ticket",
            "ticket_id",
            "bot_user_id",
            unique=True,
            sqlite_where=_OF_TICKET,
            postgresql_where=_OF_TICKET,
        ),
    )

    id: Mapped[str] = id_key()
    bot_user_id: Mapped[str] = mapped_column(Id)
    ticket_id: Mapped[str | None] = mapped_column(Id)
    calls: Mapped[int] = mapped_column(Count)
    input_tokens: Mapped[int] = mapped_column(Count)
    output_tokens: Mapped[int] = mapped_column(Count)
    # In millionths of a dollar.
    cost_micros: Mapped[int] = mapped_column(Count)
