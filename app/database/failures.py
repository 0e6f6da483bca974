"""Classifying database errors: an outage, a collision, a duplicate."""

import logging
import sqlite3
import time

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError

from app.core.errors import Unavailable
from app.database import messages

log = logging.getLogger(__name__)

# After this long, a reason of the same kind is logged again.
REPEAT_SECONDS = 10.0
# When each class of error was last logged; None in commands, which print the reason.
_logged_at: dict[type, float] | None = None

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


def log_outages() -> None:
    """Make ``unavailable`` log in this process."""
    global _logged_at  # noqa: PLW0603 - of the process
    _logged_at = {}


def unavailable(error: Exception) -> Unavailable:
    """The refusal of work in this outage; logs its reason, which clients do not get."""
    kind, now = type(getattr(error, "orig", error)), time.monotonic()
    if _logged_at is not None and now - _logged_at.get(kind, -REPEAT_SECONDS) >= REPEAT_SECONDS:
        _logged_at[kind] = now
        log.warning("the database is unavailable", extra={"reason": _first_line(error)})
    return Unavailable()


def _first_line(error: Exception) -> str:
    """What the database said, or the pool, without the parameters of the statement."""
    return str(getattr(error, "orig", error)).partition("\n")[0]


def outage_in_words(error: Unavailable) -> str:
    """The database's reason for an outage, for the operator."""
    cause = error.__cause__
    if not isinstance(cause, DBAPIError | OSError):
        return error.message
    refusal = refusal_in_words(cause) if isinstance(cause, DBAPIError) else None
    return refusal or messages.cannot_be_reached(_first_line(cause))


def refusal_in_words(error: DBAPIError) -> str | None:
    """What the operator can do about a database that does not let this role write."""
    match getattr(error.orig, "sqlstate", None):
        case "42501":
            return messages.lacks_right(_first_line(error))
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
