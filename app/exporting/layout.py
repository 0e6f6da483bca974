"""The dump of an installation: its files, writing them, and reading them."""

import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import click
import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    LargeBinary,
    String,
    Table,
    collate,
    select,
    text,
)

from app.accounts.models import (
    FailureWindow,
    LoginBucket,
    Passkey,
    PasswordLink,
    UsedToken,
    User,
    UserSession,
)
from app.core.clock import EPOCH, iso
from app.core.ids import UUID_PATTERN
from app.database.columns import Id
from app.database.idempotency import IdempotencyRecord
from app.database.session import db
from app.exporting import column_values, messages
from app.exporting.copying import tables
from app.files.copying import copy_contents
from app.files.models import FileContent
from app.files.store import FolderStore, Store
from app.integrations.models import CodeDelivery
from app.jobs.sweeping import SweeperLease
from app.mail.models import Mail

FORMAT = "docket-export"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DATA = "data"
FILES = "files"
BATCH = 500

# Short-lived rows of a running installation, and passkeys, which only work at its address.
TRANSIENT = frozenset(
    model.__tablename__
    for model in (
        UserSession,
        PasswordLink,
        Passkey,
        LoginBucket,
        FailureWindow,
        UsedToken,
        IdempotencyRecord,
        SweeperLease,
        CodeDelivery,
        Mail,
    )
)

_users = cast("Table", User.__table__)
_MILLISECOND = timedelta(milliseconds=1)


def exported() -> list[Table]:
    return [table for table in tables() if table.name not in TRANSIENT]


def data_name(table: Table) -> str:
    return f"{DATA}/{table.name}.jsonl"


def key_mark(secret_key: str) -> str:
    """A mark of the SECRET_KEY that encrypts the stored secrets; does not reveal the key."""
    return hmac.new(secret_key.encode(), FORMAT.encode(), hashlib.sha256).hexdigest()[:16]


def line_of(table: Table, row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSON: columns in table order, times as ISO 8601, bytes as base64."""
    values = {str(column.name): _encoded(column, row[column.name]) for column in table.columns}
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


def _encoded(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if type(column.type) is BigInteger:
        return iso(value)
    if isinstance(column.type, LargeBinary):
        return base64.b64encode(value).decode()
    return value


@dataclass(slots=True)
class Folder:
    """The folder that is being written, and the digest of each file in it."""

    path: Path
    digests: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, content: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.digests[name] = hashlib.sha256(content).hexdigest()

    def write_contents(self, connection: Connection, source: Store) -> list[str]:
        """Write file contents under their hashes; returns those that are missing or damaged."""
        statement = select(FileContent.sha256).order_by(FileContent.sha256)
        contents = list(connection.scalars(statement))
        if not contents:
            return []
        folder = self.path / FILES
        folder.mkdir()
        lost = copy_contents(contents, source, FolderStore(folder), folder)
        for sha256 in set(contents) - set(lost):
            self.digests[f"{FILES}/{sha256[:2]}/{sha256}"] = sha256
        return lost


@contextmanager
def snapshot() -> Iterator[Connection]:
    """A connection that sees one consistent state while others write."""
    with db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(text(f"SET LOCAL {name} = 0"))
        yield connection


def write_data(
    connection: Connection, folder: Folder, done: Callable[[int], object]
) -> dict[str, int]:
    """Write the rows of every table in key order; returns the row count of each table."""
    return {str(table.name): _write_table(connection, folder, table, done) for table in exported()}


def _write_table(
    connection: Connection, folder: Folder, table: Table, done: Callable[[int], object]
) -> int:
    path = folder.path / data_name(table)
    path.parent.mkdir(exist_ok=True)
    digest, count = hashlib.sha256(), 0
    rows = connection.execution_options(yield_per=BATCH).execute(
        select(table).order_by(*_bytewise(connection, table))
    )
    with path.open("wb") as file:
        for batch in rows.mappings().partitions():
            content = b"".join(line_of(table, dict(row)) for row in batch)
            file.write(content)
            digest.update(content)
            count += len(batch)
            done(len(batch))
    folder.digests[data_name(table)] = digest.hexdigest()
    return count


def _bytewise(connection: Connection, table: Table) -> Iterator[ColumnElement[Any]]:
    """The key columns; text sorts by bytes on both databases, whatever the locale."""
    for column in table.primary_key.columns:
        is_text = isinstance(column.type, String) and not isinstance(column.type, Id)
        if is_text and connection.dialect.name == "postgresql":
            yield collate(column, "C")
        else:
            yield column


def write_manifest(folder: Folder, counts: dict[str, int], revision: str, secret_key: str) -> None:
    """Write the manifest, which completes the export; equal data gives equal bytes."""
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "schema": revision,
        "secret_key_mark": key_mark(secret_key),
        "rows": counts,
        "files": dict(sorted(folder.digests.items())),
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    (folder.path / MANIFEST).write_bytes(orjson.dumps(manifest, option=options))
    # One sync for all files: thousands of separate syncs would take minutes.
    os.sync()


def row_of(table: Table, line: bytes) -> dict[str, Any]:
    """Read a row that ``line_of`` wrote; columns added after the export get their default.

    Raises ValueError for a line that is not a row of this table.
    """
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(messages.NOT_JSON) from error
    if not isinstance(values, dict):
        raise ValueError(messages.NOT_AN_OBJECT)  # noqa: TRY004 - one error for every bad line
    unknown = values.keys() - {column.name for column in table.columns}
    if unknown:
        raise ValueError(messages.unknown_field(min(unknown)))
    row = {column.name: _decoded(column, values) for column in table.columns}
    column_values.check(table.name, row)
    return row


def _decoded(column: Column[Any], values: dict[str, Any]) -> Any:
    if column.name not in values:
        if column.nullable:
            return None
        if column.default is not None and column.default.is_scalar:
            return column.default.arg  # type: ignore[attr-defined]  # as is_scalar says
        raise ValueError(messages.lacks_column(column.name))
    value = values[column.name]
    if isinstance(column.type, JSON) or (value is None and column.nullable):
        return value
    try:
        return _checked(column, value)
    except (ValueError, TypeError) as error:
        raise ValueError(messages.must_be(str(column.name), _kind(column))) from error


def _checked(column: Column[Any], value: Any) -> Any:
    """The decoded value; raises ValueError and TypeError for a value of another type."""
    if type(column.type) is BigInteger:
        return (datetime.fromisoformat(value) - EPOCH) // _MILLISECOND
    if isinstance(column.type, LargeBinary):
        return base64.b64decode(value, validate=True)
    if isinstance(column.type, Id):
        if not UUID_PATTERN.fullmatch(value):
            raise ValueError(value)
    elif type(value) is not column.type.python_type or (
        isinstance(value, int) and abs(value) > column_values.MAX_INTEGER
    ):
        raise TypeError(value)
    return value


def _kind(column: Column[Any]) -> str:
    if type(column.type) is BigInteger:
        return messages.A_TIME
    if isinstance(column.type, Id):
        return messages.A_UUID
    return messages.KINDS[column.type.python_type]


@dataclass(frozen=True, slots=True)
class Export:
    """An export whose files are complete and match their digests."""

    folder: Path
    rows: dict[str, int]
    secret_key_mark: str

    def rows_of(self, table: Table) -> Iterator[dict[str, Any]]:
        """A table's rows; raises ClickException naming file and line."""
        name = data_name(table)
        if table.name not in self.rows:
            return
        with (self.folder / name).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield row_of(table, line)
                except ValueError as error:
                    raise click.ClickException(
                        messages.at_line(name, number, str(error))
                    ) from error


def open_export(folder: Path, revision: str) -> Export:
    """Open the export in a folder; raises ClickException if it is none, incomplete or changed.

    ``revision`` is this release's schema; an export of a later schema is refused.
    """
    manifest = _manifest(folder)
    version, schema = manifest["format_version"], manifest["schema"]
    digests, rows = manifest["files"], manifest["rows"]
    if version > FORMAT_VERSION or schema > revision:
        raise click.ClickException(messages.OF_A_NEWER_VERSION)
    unknown = rows.keys() - {table.name for table in exported()}
    if unknown:
        raise click.ClickException(messages.unknown_rows(min(unknown)))
    listed = {name for name in digests if name.startswith(f"{DATA}/")}
    counted = {f"{DATA}/{table}.jsonl" for table in rows}
    # Every release exports users, even if there are none.
    for name in sorted({*counted, data_name(_users)} - listed):
        raise click.ClickException(messages.not_listed(name))
    for name in sorted(listed - counted):
        raise click.ClickException(messages.not_counted(name))
    for name, digest in digests.items():
        _check(folder, name, digest)
    return Export(folder, rows, manifest["secret_key_mark"])


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest with fields of the right types; raises ClickException."""
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise click.ClickException(messages.not_an_export(str(folder)))
    for name, kind in messages.MANIFEST.items():
        if not _FITS[name](manifest.get(name)):
            problem = messages.must_be(name, kind)
            raise click.ClickException(messages.in_manifest(problem))
    return manifest


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and value != ""


_FITS: dict[str, Callable[[Any], bool]] = {
    "format_version": lambda value: _is_count(value) and value > 0,
    "schema": _is_filled,
    "secret_key_mark": _is_filled,
    "rows": lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
    "files": lambda value: isinstance(value, dict) and all(map(_is_filled, value.values())),
}


def _check(folder: Path, name: str, digest: str) -> None:
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise FileNotFoundError(name)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    # No path can have a NUL, which is a ValueError.
    except (OSError, ValueError) as error:
        raise click.ClickException(messages.file_missing(name)) from error
    if found != digest:
        raise click.ClickException(messages.file_changed(name))
