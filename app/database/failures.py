"""Classifying database errors: an outage, a collision, a duplicate."""

import sqlite3

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError

from app.core.errors import Unavailable
from app.database import messages

# PostgreSQL: connection lost, shutting down, out of resources, read-only after a failover, lock and
# statement timeouts, disk full.
_OUTAGE_STATES = ("08", "57P0", "53", "55P03", "57014", "25006", "25P03", "58030")
_SQLITE_OUTAGES = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_FULL",
    "SQLITE_READONLY",
    "SQLITE_IOERR",
    "SQLITE_CANTOPEN",
    "SQLITE_PROTOCOL",
    "SQLITE_NOMEM",
)


def is_outage(error: DBAPIError) -> bool:
    """Whether the database is out of reach or out of resources."""
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "") or ""
        return name.startswith(_SQLITE_OUTAGES)
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, InterfaceError) or _is_lost(error)
    return str(state).startswith(_OUTAGE_STATES)


def _is_lost(error: DBAPIError) -> bool:
    """Whether the connection failed, which psycopg reports without an SQLSTATE."""
    return type(error.orig).__name__ in {"OperationalError", "ConnectionTimeout"}


def outage_in_words(error: Unavailable) -> str:
    """The database's reason for an outage, for the operator."""
    cause = error.__cause__
    if not isinstance(cause, DBAPIError | OSError):
        return error.message
    problem = cause.orig if isinstance(cause, DBAPIError) else cause
    first_line = str(problem).partition("\n")[0]
    refusal = refusal_in_words(cause) if isinstance(cause, DBAPIError) else None
    return refusal or messages.cannot_be_reached(first_line)


def refusal_in_words(error: DBAPIError) -> str | None:
    """What the operator can do about a database that does not let this role write."""
    match getattr(error.orig, "sqlstate", None):
        case "42501":
            return messages.lacks_right(str(error.orig).partition("\n")[0])
        case "25006":
            return messages.READ_ONLY
    return None


# Serialization failure; deadlock; a foreign key to a row that was deleted meanwhile, which the next
# run reports; a prepared statement that was deallocated (``compiled_statements.run``).
_RETRYABLE_STATES = frozenset({"40001", "40P01", "23503", "26000"})


def is_retryable(error: Exception) -> bool:
    """Whether PostgreSQL refused because of a collision, so the work should run again."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return state in _RETRYABLE_STATES


def is_unique_violation(error: IntegrityError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    name = getattr(error.orig, "sqlite_errorname", "") or ""
    return state == "23505" or name in {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
