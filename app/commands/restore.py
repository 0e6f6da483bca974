"""flask restore ticket|wiki-page|project|comment."""

from collections.abc import Callable
from typing import Any

import click

from app.core.actor import SYSTEM, Actor
from app.database.session import reading, run_write
from app.projects.command_line import acting_human, live_project_id
from app.projects.restoring import restore_project
from app.tickets.restoring import restore_comment, restore_ticket
from app.wiki.restoring import restore_page

AS = click.option("--as", "username", help="The human who restores; else the system does.")


@click.group("restore")
def restore() -> None:
    """Bring back what was deleted. Each restoration stands in the audit log."""


def _actor(username: str | None) -> Actor:
    if username is None:
        return SYSTEM
    with reading():
        return acting_human(username)


def _done(work: Callable[[], Any], text: str) -> None:
    run_write(work)
    click.echo(text)


@restore.command("ticket")
@click.argument("reference")
@AS
def ticket(reference: str, username: str | None) -> None:
    """Restore a ticket, by display id or UUID."""
    actor = _actor(username)
    _done(lambda: restore_ticket(actor, reference), f"Restored {reference}.")


@restore.command("comment")
@click.argument("comment_id")
@AS
def comment(comment_id: str, username: str | None) -> None:
    """Restore a comment, by its UUID."""
    actor = _actor(username)
    _done(lambda: restore_comment(actor, comment_id), "Restored the comment.")


@restore.command("wiki-page")
@click.argument("reference")
@click.option("--project", "key", help="The project's key; without it, a global page.")
@AS
def wiki_page(reference: str, key: str | None, username: str | None) -> None:
    """Restore a wiki page, by slug or UUID; of several of a slug, the one deleted last."""
    actor = _actor(username)
    project_id = None
    if key is not None:
        with reading():
            project_id = live_project_id(key)
    _done(lambda: restore_page(actor, reference, project_id=project_id), f"Restored {reference}.")


@restore.command("project")
@click.argument("key")
@AS
def project(key: str, username: str | None) -> None:
    """Restore a project and all that lies in it, by its key."""
    actor = _actor(username)
    _done(lambda: restore_project(actor, key), f"Restored {key}.")
