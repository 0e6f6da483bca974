"""How revisions run, on both databases: all or nothing, and one starter at a time.

``flask db upgrade`` and the server's start come through here; ``flask db migrate`` as well, which
drafts the next revision for a person to read and edit.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import context
from alembic.operations.ops import MigrationScript
from alembic.runtime.migration import MigrationInfo
from alembic.script import ScriptDirectory

from app.database.columns import Id
from app.database.connect import for_writing
from app.database.locks import Lock
from app.database.schema import require_own_statements, require_wide_encoding
from app.database.session import Base, db
from app.database.writer_lock import writer_lock

log = logging.getLogger("docket.schema")
# Docket logs its own line for a migration.
logging.getLogger("alembic").setLevel(logging.WARNING)

# How long a second starter waits for the first one's migration.
WAIT = "60s"
# How long a statement waits for the rows of a server that still works on the old schema.
LOCK_TIMEOUT = "5s"


def run() -> None:
    """Bring the schema up to date in one transaction.

    Raises DomainError if the database does not hold every text, or a pooler mixes up statements.
    """
    steps: list[str] = []
    with db.engine.connect() as connection:
        # First, because the other begins a transaction.
        require_own_statements(connection)
        require_wide_encoding(connection)
    with (
        writer_lock(db.engine),
        db.engine.connect() as connection,
        _foreign_keys_off(connection),
        for_writing(connection).begin(),
    ):
        _take_turn(connection)
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            transactional_ddl=True,
            render_as_batch=True,
            compare_type=True,
            include_name=_include_name,
            include_object=_include_object,
            render_item=_render_item,
            process_revision_directives=_number,
            on_version_apply=partial(_note_revision, steps),
        )
        context.run_migrations()
        if steps:
            _check_foreign_keys(connection)
    if steps:
        log.info("schema upgraded", extra={"revision": steps[-1], "revisions": len(steps)})


@contextmanager
def _foreign_keys_off(connection: sa.Connection) -> Iterator[None]:
    """Rebuild SQLite's tables without touching the rows that refer to them.

    With foreign keys on, replacing a parent table deletes its children through ON DELETE CASCADE.
    The switch works only outside a transaction, hence on the driver's own connection.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.dbapi_connection
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _check_foreign_keys(connection: sa.Connection) -> None:
    """Reject a result with dangling references in SQLite; PostgreSQL never allows them."""
    if connection.dialect.name != "sqlite":
        return
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        tables = sorted({row[0] for row in broken})
        raise RuntimeError(f"rows of {', '.join(tables)} refer to rows that do not exist")


def _take_turn(connection: sa.Connection) -> None:
    """Wait until no other starter migrates; on SQLite, the writer lock already ensures this."""
    if connection.dialect.name != "postgresql":
        return
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}'")
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(int(Lock.MIGRATION))))
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")


def _note_revision(steps: list[str], *, step: MigrationInfo, **_context: Any) -> None:
    steps.append(str(step.up_revision_id))


def _include_name(name: str | None, kind: str, _parents: object) -> bool:
    """Leave the full-text index out: SQLite keeps it in tables that no model describes."""
    return not (kind == "table" and name is not None and name.startswith("search_fts"))


def _include_object(
    item: Any, _name: str | None, kind: str, _is_reflected: bool, _other: object
) -> bool:
    """Leave indexes over expressions out: databases rewrite them, so they never compare equal."""
    return kind != "index" or all(isinstance(one, sa.Column) for one in item.expressions)


def _render_item(kind: str, item: Any, _autogen: object) -> str | bool:
    """Write ids as plain types, so that a revision never depends on the code of today."""
    if kind == "type" and isinstance(item, Id):
        return "ID"
    return False


def _number(_context: object, _revision: object, directives: list[MigrationScript]) -> None:
    """Number the next revision: 0001, 0002, ..."""
    head = ScriptDirectory.from_config(context.config).get_current_head()
    directives[0].rev_id = f"{int(head or 0) + 1:04d}"


if context.is_offline_mode():
    raise RuntimeError("Revisions look at the database they change, so there is no --sql mode.")
run()
