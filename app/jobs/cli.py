"""flask sweep."""

import click
from flask import current_app

from app.jobs.sweepers import SWEEPERS
from app.jobs.sweeping import sweep


@click.command("sweep")
@click.argument("name", type=click.Choice(list(SWEEPERS)), required=False)
def sweep_command(name: str | None) -> None:
    """Delete what is past its time, now: all of it, or what one sweeper looks after."""
    for one in [name] if name else list(SWEEPERS):
        swept = sweep(one, current_app.config["SETTINGS"], now=True)
        if swept is None:
            click.echo(f"{one}: another process is at it")
        else:
            click.echo(f"{one}: {swept.deleted} deleted")
