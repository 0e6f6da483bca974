"""flask export DIR and flask import-export DIR: an installation as files, and back."""

import os
import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import click
from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.exc import DBAPIError

from app.accounts import bot_reads
from app.accounts.models import BotReader, RecoveryCode, SecondFactor, User, UserType
from app.commands import server_stopped
from app.commands.moving import messages
from app.config import Settings
from app.core.clock import now_ms
from app.core.text import counted
from app.database import schema
from app.database.session import reading, session, transaction
from app.exporting import layout
from app.exporting.copying import count, store_rows
from app.exporting.layout import Export, Folder, open_export, snapshot, write_data, write_manifest
from app.exporting.markdown import ExportScope, files
from app.files.copying import copy_contents
from app.files.models import FileContent
from app.files.store import FolderStore, incoming, store_of
from app.http.current import current_settings
from app.integrations import service as integrations
from app.integrations.models import Integration
from app.search import reindexing
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook

_contents = cast("Table", FileContent.__table__)


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Export everything to DIR as JSON lines and Markdown while the server runs.

    DIR must be new or empty. It will contain password and token hashes, and the secrets of webhooks
    and second factors, encrypted under SECRET_KEY. Protect it like a backup.
    """
    settings = current_settings()
    folder = folder.absolute()
    try:
        if folder.exists() and any(folder.iterdir()):
            raise click.ClickException(messages.not_empty(folder))
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Readable only by this user, and renamed when complete.
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise click.ClickException(messages.export_failed(error)) from error
    try:
        written = Folder(temporary)
        with snapshot() as connection:
            total = sum(count(connection, table) for table in layout.exported())
            with click.progressbar(length=total, label=messages.EXPORTING, file=sys.stderr) as bar:
                counts = write_data(connection, written, bar.update)
            lost = written.write_contents(connection, store_of(settings))
            for name, content in files(lambda: nullcontext(connection), ExportScope()):
                written.write(name, content)
        write_manifest(written, counts, schema.newest_revision() or "", settings.secret_key)
        temporary.replace(folder)
    except OSError as error:
        raise click.ClickException(messages.export_failed(error)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    number = len(written.digests) + 1
    click.echo(
        messages.exported(folder, counted(sum(counts.values()), "rows"), counted(number, "files"))
    )
    if lost:
        click.echo(messages.contents_lost(len(lost)), err=True)


@click.command("import-export")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--reset-webhooks",
    is_flag=True,
    help="If SECRET_KEY differs: disable webhooks and generate new secrets.",
)
@click.option(
    "--reset-second-factors",
    is_flag=True,
    help="If SECRET_KEY differs: turn off two-factor authentication for everyone.",
)
def import_export(folder: Path, reset_webhooks: bool, reset_second_factors: bool) -> None:
    """Import what 'flask export' wrote into an empty installation.

    Everything is imported, or nothing. Sessions and login limits are not included.
    """
    settings = current_settings()
    with server_stopped(settings):
        _import(
            settings,
            folder,
            reset_webhooks=reset_webhooks,
            reset_second_factors=reset_second_factors,
        )


def _import(
    settings: Settings, folder: Path, *, reset_webhooks: bool, reset_second_factors: bool
) -> None:
    schema.upgrade()
    source = open_export(folder, schema.newest_revision() or "")
    keep_secrets = source.secret_key_mark == layout.key_mark(settings.secret_key)
    hooks = source.rows.get(Webhook.__tablename__, 0)
    hosts = source.rows.get(Integration.__tablename__, 0)
    factors = source.rows.get(SecondFactor.__tablename__, 0)
    if hooks + hosts and not keep_secrets and not reset_webhooks:
        raise click.ClickException(messages.hooks_need_key(hooks + hosts))
    if factors and not keep_secrets and not reset_second_factors:
        raise click.ClickException(messages.factors_need_key(factors))
    # Contents must exist before the rows that name them.
    contents = [row["sha256"] for row in source.rows_of(_contents)]
    exported = FolderStore(folder / layout.FILES)
    lost = copy_contents(contents, exported, store_of(settings), incoming(settings))
    try:
        with transaction():
            _store(session.connection(), source, keep_secrets=keep_secrets)
            if not keep_secrets:
                for model in (RecoveryCode, SecondFactor):
                    session.execute(delete(model))
            if BotReader.__tablename__ not in source.rows:
                # An older release's export does not show which reads of bots are missing.
                bots = session.scalars(select(User.id).where(User.type == UserType.BOT.value))
                bot_reads.store_gap(bots.all(), now_ms())
    except DBAPIError as error:
        first_line = str(error.orig).partition("\n")[0]
        raise click.ClickException(messages.nothing_imported(first_line)) from error
    with reading():
        documents = reindexing.total()
    with click.progressbar(length=documents, label=messages.INDEXING, file=sys.stderr) as bar:
        for step in reindexing.reindex():
            bar.update(step)
    click.echo(
        messages.imported(
            counted(sum(source.rows.values()), "rows"), counted(documents, "documents")
        )
    )
    if lost:
        click.echo(messages.contents_lost_in_export(len(lost)), err=True)
    if hooks and not keep_secrets:
        click.echo(messages.webhooks_disabled(counted(hooks, "webhooks")))
    if hosts and not keep_secrets:
        click.echo(messages.integrations_to_rotate(counted(hosts, "integrations")))
    if factors and not keep_secrets:
        click.echo(messages.factors_turned_off(factors))


def _store(connection: Connection, source: Export, *, keep_secrets: bool) -> None:
    """Insert all rows; raises ClickException if tables are not empty or counts differ."""
    for table in layout.exported():
        if count(connection, table):
            raise click.ClickException(messages.installation_not_empty(table.name))
    total = sum(source.rows.values())
    with click.progressbar(length=total, label=messages.IMPORTING, file=sys.stderr) as bar:
        for table in layout.exported():
            rows = source.rows_of(table)
            if table.name == Webhook.__tablename__ and not keep_secrets:
                rows = (_without_secret(row) for row in rows)
            if table.name == Integration.__tablename__ and not keep_secrets:
                rows = (_without_forge_secret(row) for row in rows)
            stored = store_rows(connection, table, rows, bar.update)
            if not stored == source.rows.get(table.name, 0) == count(connection, table):
                raise click.ClickException(messages.rows_wrong(table.name))


def _random_secret() -> bytes:
    return os.urandom(32).hex().encode()


def _without_forge_secret(row: dict[str, Any]) -> dict[str, Any]:
    """An integration's row, with a random secret in place of one under another key."""
    return {**row, "sealed_secret": integrations.SECRETS.encrypt(row["id"], _random_secret())}


def _without_secret(row: dict[str, Any]) -> dict[str, Any]:
    """A webhook's row, inactive, and with a random secret in place of one under another key."""
    sealed = webhooks.SECRETS.encrypt(row["id"], _random_secret())
    return {**row, "is_active": False, "sealed_secret": sealed}
