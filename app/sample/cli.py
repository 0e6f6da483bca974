"""flask sample-project: the sample project from the command line."""

import click

from app.config import settings_at_hand
from app.database.session import reading, run_write
from app.projects.command_line import acting_human
from app.sample import sample


@click.command("sample-project")
@click.option("--remove", is_flag=True, help="Remove it: project deleted, its bots deactivated.")
@click.option("--as", "username", help="The human who acts; needed if there are several.")
def sample_project(username: str | None, *, remove: bool) -> None:
    """Load a project to look around in: tickets, pages, and the history of two bots.

    It is made of ordinary, audited changes. With --remove it goes again; the audit log keeps what
    happened, and the project's key and the bots' names stay taken.
    """
    settings = settings_at_hand()
    with reading():
        actor = acting_human(username)
    if remove:
        gone = run_write(lambda: sample.remove_sample(actor))
        click.echo(f"Removed {gone.key}; its bots are deactivated.")
        return
    made = run_write(lambda: sample.load_sample(actor, settings=settings))
    click.echo(f"Loaded {made.key}: {settings.base_url}/projects/{made.key}")
