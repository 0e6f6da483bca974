"""flask backup FILE, flask restore-backup FILE and flask copy-to DATABASE_URL."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click
from flask import Flask, current_app
from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from app.audit.models import AuditEvent
from app.commands import server_stopped
from app.commands.moving import messages
from app.commands.secrets import lost_second_factors, lost_secrets
from app.config import MOVED, Settings
from app.core.text import counted
from app.database import schema
from app.database.session import db, reading
from app.environment import database_url
from app.exporting.copying import copy_table, count, tables
from app.files.copying import copy_contents
from app.files.store import FolderStore, Store, incoming, store_of
from app.http.current import current_settings
from app.jobs import checkpointing
from app.search import reindexing

FACTORY = "APP_FACTORY"


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def backup(file: Path, force: bool) -> None:
    """Back up the embedded database to FILE, and files to FILE.files, while the server runs.

    SQLite only; use pg_dump for PostgreSQL, and copy INSTANCE_DIR/files after it. Restore it with
    'flask restore-backup'. Keep the secret key (INSTANCE_DIR/secret_key) with it: stored secrets
    cannot be decrypted without it.
    """
    settings = current_settings()
    source = settings.database_path
    if source is None:
        raise click.ClickException(messages.USE_PG_DUMP)
    if not source.exists() or _has_users(source) is False:
        raise click.ClickException(messages.no_database(source))
    if _is_own(file, settings):
        raise click.ClickException(messages.in_use(file))
    if file.exists() and not file.is_file():
        raise click.ClickException(messages.no_plain_file(file))
    if file.exists() and not force:
        raise click.ClickException(messages.already_exists(file))
    copy_database(source, file)
    # A bucket has its own backups.
    contents = [] if settings.files_url else _contents_of(file)
    # Copy the database first: contents that it names are kept for longer than this takes.
    lost = _copy_contents(contents, store_of(settings), _beside(file))
    click.echo(messages.backup_verified(file, file.stat().st_size))
    if contents:
        click.echo(
            messages.contents_verified(
                _beside(file), counted(len(contents) - len(lost), "contents of files")
            )
        )
    _report(lost)


def _is_own(file: Path, settings: Settings) -> bool:
    """Whether this installation uses the file, under whatever name."""
    target = file.resolve()
    own = [*settings.own_files(), settings.instance_dir / checkpointing.FILE]
    is_same = any(one.resolve() == target or _are_same(one, target) for one in own)
    return is_same or settings.files_dir.resolve() in target.parents


def _are_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _beside(file: Path) -> Path:
    """The folder with the files of a backup."""
    return file.with_name(f"{file.name}.files")


def _uri(file: Path, mode: str) -> str:
    # A name may have characters that mean something in an address.
    return f"{file.absolute().as_uri()}?mode={mode}"


@contextmanager
def _opened(file: Path, mode: Literal["ro", "rw"] = "ro") -> Iterator[sqlite3.Connection]:
    """A connection to a SQLite file; raises ClickException if SQLite refuses what is done to it."""
    try:
        with closing(sqlite3.connect(_uri(file, mode), uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise click.ClickException(messages.cannot_use_file(file, error)) from error


def _contents_of(file: Path) -> list[str]:
    """The hashes of contents that a database names; none if it is of an older release."""
    with _opened(file) as connection:
        try:
            rows = connection.execute("SELECT sha256 FROM file_contents ORDER BY 1").fetchall()
        except sqlite3.OperationalError:
            return []
    return [str(row[0]) for row in rows]


def _copy_contents(contents: list[str], source: Store, folder: Path) -> list[str]:
    """Copy contents into a folder; returns those that are missing or damaged."""
    if not contents:
        return []
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return copy_contents(contents, source, FolderStore(folder), folder)
    except OSError as error:
        raise click.ClickException(messages.files_failed(error)) from error


def _report(lost: list[str]) -> None:
    if lost:
        click.echo(messages.contents_lost(len(lost)), err=True)


def copy_database(source: Path, file: Path) -> None:
    """Copy a consistent state of a SQLite database; the file appears complete or not at all.

    Raises ClickException if the copy fails or its integrity check does.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(descriptor)
        copy = Path(name)
        try:
            _back_up(source, copy)
            with copy.open("rb") as opened:
                os.fsync(opened.fileno())
            copy.replace(file)
        finally:
            copy.unlink(missing_ok=True)
        directory = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(messages.backup_failed(error)) from error


def _back_up(source: Path, copy: Path) -> None:
    with (
        closing(sqlite3.connect(_uri(source, "ro"), uri=True, timeout=30)) as opened,
        closing(sqlite3.connect(copy)) as target,
    ):
        # Copy in one step: between steps, any write would restart the copy.
        opened.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        problems = [row[0] for row in target.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [str(row) for row in target.execute("PRAGMA foreign_key_check")]
        if problems:
            raise click.ClickException(messages.copy_corrupt(problems[0]))


@click.command("restore-backup")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore_backup(file: Path) -> None:
    """Restore the embedded database, which must be empty, from FILE, and files from FILE.files.

    Stop the server first, and copy the secret key of the backup to INSTANCE_DIR.
    """
    settings = current_settings()
    path = settings.database_path
    if path is None:
        raise click.ClickException(messages.USE_PG_RESTORE)
    with server_stopped(settings):
        if path.exists() and _has_users(path) is not False:
            raise click.ClickException(messages.move_away(path))
        if not _has_users(file):
            raise click.ClickException(messages.not_a_backup(file))
        if schema.is_newer(_revision_of(file)):
            raise click.ClickException(messages.of_newer_release(file))
        db.engine.dispose()
        incoming(settings)
        contents, backed_up = _contents_of(file), FolderStore(_beside(file))
        # Contents must exist before the database that names them.
        missing = copy_contents(contents, backed_up, store_of(settings), settings.incoming_dir)
        if path.exists():
            # After a crash, a full WAL beside the restored file would be taken for its own.
            _checkpoint_wal(path)
        copy_database(file, path)
        for name in (f"{path}-wal", f"{path}-shm"):
            Path(name).unlink(missing_ok=True)
        schema.upgrade()
        with reading():
            lost, lost_factors = lost_secrets(), lost_second_factors()
    click.echo(messages.restored(path, file))
    _report(missing)
    if lost:
        click.echo(
            messages.hooks_of_other_key(lost),
            err=True,
        )
    if lost_factors:
        click.echo(
            messages.factors_of_other_key(lost_factors),
            err=True,
        )


def _has_users(file: Path) -> bool | None:
    """Whether a database has users; None if it is unreadable but may be recoverable."""
    with _opened(file) as connection:
        try:
            table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'users'")
            if table.fetchone() is None:
                return False
            return connection.execute("SELECT 1 FROM users LIMIT 1").fetchone() is not None
        except sqlite3.DatabaseError:
            return None


def _revision_of(file: Path) -> str | None:
    """The revision of a database's schema; None if it names none."""
    with _opened(file) as connection:
        try:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError:
            return None
    return str(row[0]) if row else None


@click.command("copy-to")
@click.argument("url", metavar="[DATABASE_URL]", envvar="TARGET_DATABASE_URL")
def copy_to(url: str) -> None:
    """Copy this installation from SQLite to an empty PostgreSQL database.

    Set TARGET_DATABASE_URL instead of the argument to keep the password out of process lists.

    Stop the server first. Afterwards start it with that DATABASE_URL and the SECRET_KEY in
    INSTANCE_DIR/secret_key. The SQLite file is renamed and ends in .moved. Run it again if it is
    interrupted.
    """
    settings = current_settings()
    path = settings.database_path
    if path is None:
        raise click.ClickException(messages.IS_POSTGRESQL)
    target_url = database_url({"DATABASE_URL": url}, "DATABASE_URL", Path())
    if not target_url.startswith("postgresql"):
        raise click.UsageError(messages.URL_NOT_POSTGRESQL)
    create: Callable[[Settings], Flask] = current_app.config[FACTORY]
    target = create(replace(settings, database_url=target_url))
    try:
        with server_stopped(settings):
            # Refuse before a long copy, not only when the file is renamed.
            _checkpoint_wal(path)
            with reading():
                source = db.session.connection()
                total = sum(count(source, table) for table in tables())
                with click.progressbar(length=total, label=messages.COPYING) as bar:
                    _copy(source, target, bar.update)
            with target.app_context():
                with reading():
                    documents = reindexing.total()
                with click.progressbar(length=documents, label=messages.INDEXING) as bar:
                    for step in reindexing.reindex():
                        bar.update(step)
            moved = _set_aside(path)
    except DBAPIError as error:
        first_line = str(error.orig).partition("\n")[0]
        raise click.ClickException(messages.nothing_copied(first_line)) from error
    finally:
        with target.app_context():
            db.engine.dispose()
    click.echo(messages.copied(counted(total, "rows"), counted(documents, "documents")))
    click.echo(messages.file_moved(moved, path))


def _set_aside(path: Path) -> Path:
    """Rename the SQLite file, so that no server uses it again; returns its new path."""
    db.engine.dispose()
    # Only the main file is renamed.
    _checkpoint_wal(path)
    return path.rename(f"{path}{MOVED}")


def _checkpoint_wal(path: Path) -> None:
    """Write all data of a database's WAL into its main file.

    Raises ClickException if another program reads the database, which keeps data in the WAL.
    """
    with _opened(path, "rw") as connection:
        (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise click.ClickException(messages.another_program_uses(path))


def _is_copy(source: Connection, target: Connection) -> bool:
    """Whether the target has as many rows of each table, and the same newest event."""
    newest = select(AuditEvent.id).order_by(AuditEvent.id.desc()).limit(1)
    return source.scalar(newest) == target.scalar(newest) and all(
        count(source, table) == count(target, table) for table in tables()
    )


def _copy(source: Connection, target: Flask, done: Callable[[int], object]) -> None:
    """Copy all tables in one transaction, so that the target gets everything or stays empty."""
    with target.app_context():
        schema.upgrade()
        with db.engine.begin() as connection:
            if _is_copy(source, connection):
                # An earlier run was interrupted while it indexed.
                done(sum(count(source, table) for table in tables()))
                return
            for table in tables():
                if count(connection, table):
                    raise click.ClickException(messages.target_not_empty(table.name))
            for table in tables():
                copied = copy_table(source, connection, table, done)
                if not copied == count(source, table) == count(connection, table):
                    raise click.ClickException(messages.rows_wrong(table.name))
