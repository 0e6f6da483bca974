"""``flask demo``: a sample project to look around in, from one command."""

import secrets
from functools import partial

import click
from flask import Flask, current_app
from flask.cli import with_appcontext

from app.accounts import setup
from app.accounts.login import human_actor
from app.commands import show_once
from app.core import ids
from app.core.actor import SYSTEM
from app.core.errors import DomainError
from app.core.ids import request_id
from app.database.session import run_write
from app.http.current import current_settings
from app.sample.sample import load_sample
from app.serving import messages
from app.serving.parent import prepare_database, serve

USERNAME = "demo"
PASSWORD_BYTES = 8


@click.command("demo")
@with_appcontext
def demo_command() -> None:
    """Serve the sample project, with a first admin whose password is printed.

    An installation that has people is served as it is.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # of Flask's proxies
    if prepare_database(app):
        _populate()
    serve(app)


def _populate() -> None:
    request_id.set(ids.new_id())
    settings = current_settings()
    password = secrets.token_hex(PASSWORD_BYTES)
    try:
        admin = setup.create_admin(
            SYSTEM, username=USERNAME, password=password, display_name=None, settings=settings
        )
        actor = human_actor(admin)
        run_write(lambda: load_sample(actor, settings=settings))
    except DomainError as error:
        raise click.ClickException(error.message) from error
    show_once(messages.log_in_as(USERNAME, password), partial(messages.password_lost, USERNAME))
