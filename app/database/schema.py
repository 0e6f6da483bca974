"""The database schema: upgrading it, the revision that this release needs, and what is in its way.

migrations/env.py runs the revisions.
"""

from contextlib import suppress
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from flask import current_app
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName
from sqlalchemy import Connection, text
from sqlalchemy.exc import DatabaseError, DBAPIError

from app.core.errors import DomainError
from app.database import messages
from app.database.connect import run_on_driver
from app.database.session import db, reading, session

MIGRATIONS = Path(__file__).resolve().parent.parent.parent / "migrations"


def upgrade() -> None:
    """Run the missing revisions, all or none; needs an application context.

    Raises DomainError if the database does not hold every text or a newer release made it, and
    with Alembic's words for what is wrong with the revisions.
    """
    config: Config = current_app.extensions["migrate"].migrate.get_config()
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        made_by_newer = is_newer(current_revision())
        problem = messages.MADE_BY_A_NEWER_RELEASE if made_by_newer else str(error)
        raise DomainError(problem) from error


def narrow_encoding(connection: Connection) -> str | None:
    """The encoding of a database on PostgreSQL that does not hold every text."""
    if connection.dialect.name == "sqlite":
        return None
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    return None if encoding == "UTF8" else str(encoding)


def require_wide_encoding(connection: Connection) -> None:
    """Raise DomainError if the database does not hold every text."""
    encoding = narrow_encoding(connection)
    if encoding is not None:
        raise DomainError(messages.narrow_encoding(encoding))


def mixes_statements(one: Connection) -> bool:
    """Whether a pooler runs statements of one connection to PostgreSQL in that of another client.

    What two connections prepare has the same name. So the second replaces or misses the other's,
    if they are one connection behind a pooler. ``one`` must be outside of a transaction, in which
    a pooler keeps it apart.
    """
    if one.dialect.name == "sqlite":
        return False
    with db.engine.connect() as other:
        try:
            for number, connection in enumerate((one, other, one, other)):
                run_on_driver(connection, f"SELECT {number}", prepare=True)
        except DBAPIError as error:
            if isinstance(error.orig, DuplicatePreparedStatement | InvalidSqlStatementName):
                return True
            raise
    return False


def require_own_statements(connection: Connection) -> None:
    """Raise DomainError if a pooler mixes up statements; call it outside of a transaction."""
    if mixes_statements(connection):
        raise DomainError(messages.POOL_SESSIONS)


def is_read_only(connection: Connection) -> bool:
    """Whether PostgreSQL refuses all writes: a standby, or by its settings."""
    if connection.dialect.name == "sqlite":
        return False
    return bool(connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "on")


def newest_revision() -> str:
    """The newest revision, from the numbered file names; loading Alembic's scripts is slower."""
    names = sorted(path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return names[-1].split("_", 1)[0] if names else ""


def current_revision() -> str | None:
    """The revision of the database; None if it has no tables. Opens its own unit of work."""
    revision: str | None = None
    with suppress(DatabaseError), reading():
        revision = session.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def is_newer(revision: str | None) -> bool:
    """Whether only a newer release has this revision."""
    # Revisions are four-digit numbers, so they compare as text.
    return (revision or "") > newest_revision()
