"""flask backup FILE: a copy of the embedded database, taken while the server runs."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import click

from app.config import settings_at_hand


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def backup(file: Path, force: bool) -> None:
    """Copy the embedded database to FILE, checked, while the server runs.

    Only for SQLite; PostgreSQL has pg_dump. 'flask restore-backup' puts it back. Keep the secret
    key with it (INSTANCE_DIR/secret_key): it opens what is sealed.
    """
    settings = settings_at_hand()
    source = settings.database_path
    if source is None:
        raise click.ClickException("The database is PostgreSQL: use pg_dump.")
    if not source.exists():
        raise click.ClickException(
            f"There is no database at {source}; set INSTANCE_DIR as the server has it."
        )
    if file.exists() and not force:
        raise click.ClickException(f"{file} exists; --force replaces it.")
    copy_database(source, file)
    click.echo(f"{file}: {file.stat().st_size} bytes, checked")


def copy_database(source: Path, file: Path) -> None:
    """Copy a SQLite database as of one moment; the file appears whole and checked, or not at all.

    Raises ClickException where the copy cannot be made or is not sound.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(descriptor)
        made = Path(name)
        try:
            _copy(source, made)
            with made.open("rb") as copied:
                os.fsync(copied.fileno())
            made.replace(file)
        finally:
            made.unlink(missing_ok=True)
        directory = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(f"The backup failed: {error}") from error


def _copy(source: Path, made: Path) -> None:
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=30)) as opened,
        closing(sqlite3.connect(made)) as target,
    ):
        # In one go: copied in steps, it would begin anew with every write.
        opened.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        problems = [row[0] for row in target.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [str(row) for row in target.execute("PRAGMA foreign_key_check")]
        if problems:
            raise click.ClickException(f"The copy is not sound: {problems[0]}")
