"""``flask setup-admin`` and ``flask setup-code``: first-run setup from the command line."""

import click

from app.accounts import messages, setup
from app.core.actor import SYSTEM
from app.database import schema
from app.database.session import reading
from app.http.current import current_settings


@click.command("setup-admin")
@click.option("--username", help="2 to 64 characters: a-z, 0-9, dots, hyphens and underscores.")
@click.option("--display-name", help="The display name. Default: the username.")
@click.option(
    "--password",
    help="At least 12 characters. Omit it to be asked, which keeps it out of process lists.",
)
def setup_admin(username: str | None, display_name: str | None, password: str | None) -> None:
    """Create the first admin.

    Exit codes: 0 created, 1 refused (there already is a person, or the username or password is
    invalid), 2 wrong usage.
    """
    _check_open()
    username = username or click.prompt(messages.ASK_USERNAME)
    password = password or click.prompt(
        messages.ASK_PASSWORD, hide_input=True, confirmation_prompt=True
    )
    user = setup.create_admin(
        SYSTEM,
        username=username,
        password=password,
        display_name=display_name,
        settings=current_settings(),
    )
    click.echo(messages.admin_created(user.username, current_settings().base_url))


@click.command("setup-code")
def setup_code() -> None:
    """Show the code needed to create the first admin from another machine.

    Exit codes: 0 shown, 1 there already is a person.
    """
    _check_open()
    click.echo(setup.code(current_settings()))


def _check_open() -> None:
    # The command may be the first to run, before any start of the server.
    schema.upgrade()
    with reading():
        setup.check_open()
