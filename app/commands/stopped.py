"""What several commands insist on: that no server runs on the embedded database meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from app.config import Settings
from app.database.server_lock import ServerRuns, sole_use_of


@contextmanager
def server_stopped(settings: Settings) -> Iterator[None]:
    """Keep servers off the embedded database; raises ClickException where one runs on it.

    Servers on PostgreSQL may be on any host, so nobody can tell whether one runs there.
    """
    try:
        with sole_use_of(settings.database_path):
            yield
    except ServerRuns as error:
        raise click.ClickException(
            f"The server (process {error.process}) still runs on this installation; stop it first."
        ) from error
