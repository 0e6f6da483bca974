"""Writing an export: the rows, the Markdown, and the manifest that vouches for both."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, String, Table, collate, select, text

from app.database.columns import Id
from app.database.session import db
from app.exporting import layout

BATCH = 500

# How many rows each table has.
Counts = dict[str, int]


@dataclass(slots=True)
class Folder:
    """The folder that is being written, and what is in it by now."""

    path: Path
    digests: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, content: bytes) -> None:
        """Write one file, and remember its digest."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        self.digests[name] = hashlib.sha256(content).hexdigest()


@contextmanager
def snapshot() -> Iterator[Connection]:
    """A connection that sees everything as of one moment, while others write."""
    with db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
            for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(text(f"SET LOCAL {name} = 0"))
        yield connection


def write_data(connection: Connection, folder: Folder, done: Callable[[int], object]) -> Counts:
    """Write every table's rows in the order of their keys; the number of each."""
    counts = {}
    for table in layout.exported():
        counts[str(table.name)] = _write_table(connection, folder, table, done)
    return counts


def _write_table(
    connection: Connection, folder: Folder, table: Table, done: Callable[[int], object]
) -> int:
    place = folder.path / layout.data_name(table)
    place.parent.mkdir(exist_ok=True)
    digest, rows = hashlib.sha256(), 0
    found = connection.execution_options(yield_per=BATCH).execute(
        select(table).order_by(*_bytewise(connection, table))
    )
    with place.open("wb") as file:
        for part in found.mappings().partitions():
            content = b"".join(layout.line_of(table, dict(row)) for row in part)
            file.write(content)
            digest.update(content)
            rows += len(part)
            done(len(part))
    folder.digests[layout.data_name(table)] = digest.hexdigest()
    return rows


def _bytewise(connection: Connection, table: Table) -> Iterator[ColumnElement[Any]]:
    """The key's columns, text in the order that SQLite has and that no locale changes."""
    for column in table.primary_key.columns:
        is_text = isinstance(column.type, String) and not isinstance(column.type, Id)
        if is_text and connection.dialect.name == "postgresql":
            yield collate(column, "C")
        else:
            yield column


def write_manifest(folder: Folder, counts: Counts, revision: str, secret_key: str) -> None:
    """Say what the export is, last of all. Nothing in it changes unless the content does."""
    manifest = {
        "format": layout.FORMAT,
        "format_version": layout.FORMAT_VERSION,
        "schema": revision,
        "secret_key_mark": layout.key_mark(secret_key),
        "rows": counts,
        "files": dict(sorted(folder.digests.items())),
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    (folder.path / layout.MANIFEST).write_bytes(orjson.dumps(manifest, option=options))
    # Once for all of the files: one by one, thousands would take minutes.
    os.sync()
