"""flask sweep."""

import json

import click

from app.config import settings_at_hand
from app.jobs.sweepers import SWEEPERS
from app.jobs.sweeping import sweep


@click.command("sweep")
@click.argument("name", type=click.Choice(list(SWEEPERS)), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per sweeper.")
def sweep_command(name: str | None, as_json: bool) -> None:
    """Delete what is past its time, now: all of it, or what one sweeper looks after.

    The server may run meanwhile. Exit code 0, also where another process is at it already.
    """
    for one in [name] if name else list(SWEEPERS):
        swept = sweep(one, settings_at_hand(), now=True)
        deleted = None if swept is None else swept.deleted
        if as_json:
            click.echo(json.dumps({"sweeper": one, "ran": swept is not None, "deleted": deleted}))
        elif deleted is None:
            click.echo(f"{one}: another process is at it")
        else:
            click.echo(f"{one}: {deleted} deleted")
