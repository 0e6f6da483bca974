"""The unit of work at hand: its connection, where it only reads and where it writes (``db``)."""

from contextvars import ContextVar

from sqlalchemy import Connection

reader: ContextVar[Connection | None] = ContextVar("reader", default=None)
writer: ContextVar[Connection | None] = ContextVar("writer", default=None)
