"""Operator commands that span domains, and code that several of them share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from app.commands import messages
from app.config import Settings
from app.database.locks import ServerRuns, sole_use_of
from app.database.pagination import Page
from app.database.session import reading

AS = click.option("--as", "username", help="The person to act as. Required if there are several.")
JSON_LINES = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
PAGE_SIZE = 200


def all_rows(fetch: Callable[[str | None], Page]) -> Iterator[Any]:
    """The rows of all pages of a list; ``fetch`` gets each page's cursor, in a unit of work."""
    cursor: str | None = None
    while True:
        with reading():
            page = fetch(cursor)
        yield from page.data
        cursor = page.next_cursor
        if cursor is None:
            return


def show_once(secret: str, lost: Callable[[str | None], str]) -> None:
    """Print a line that cannot be printed again; raises ClickException with ``lost`` of the reason.

    ``lost`` says what was made, and how to get another.
    """
    try:
        click.echo(secret)
    except OSError as error:
        raise click.ClickException(lost(error.strerror)) from error


@contextmanager
def server_stopped(settings: Settings) -> Iterator[None]:
    """Keep servers off the embedded database; raises ClickException if one runs on it.

    Servers on PostgreSQL may be on any host and are not detected.
    """
    try:
        with sole_use_of(settings.database_path):
            yield
    except ServerRuns as error:
        raise click.ClickException(messages.server_runs(error.process)) from error
