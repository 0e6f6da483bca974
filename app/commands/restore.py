"""flask restore ticket|wiki-page|project|comment."""

from collections.abc import Callable
from typing import Any

import click
from sqlalchemy import select

from app.audit.service import record
from app.commands import messages
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, NotFound
from app.database.session import reading, run_write, session
from app.database.versions import touch
from app.projects.command_line import live_project_id, person_or_system
from app.projects.loaders import target
from app.projects.models import Project
from app.tickets.service import restore_comment, restore_ticket
from app.wiki.service import restore_page


@operation(Access.HUMAN)
def restore_project(actor: Actor, key: str) -> Project:
    """Restore a deleted project with all its contents; raises NotFound and Conflict."""
    project = session.scalars(select(Project).where(Project.key == key).with_for_update()).first()
    if project is None:
        raise NotFound("project", key)
    if not project.is_deleted:
        raise Conflict("invariant_violation", messages.project_not_deleted(key))
    project.deleted_at = None
    touch(project)
    session.flush()
    record(actor, "project.restored", target(project), key=project.key, name=project.name)
    return project


AS = click.option("--as", "username", help="The person to act as. Default: the system.")


@click.group("restore")
def restore() -> None:
    """Restore deleted items. The audit log records it."""


def _run(work: Callable[[], Any], text: str) -> None:
    run_write(work)
    click.echo(text)


@restore.command("ticket")
@click.argument("reference")
@AS
def ticket(reference: str, username: str | None) -> None:
    """Restore a ticket by its display ID or UUID."""
    actor = person_or_system(username)
    _run(lambda: restore_ticket(actor, reference), messages.restored_one(reference))


@restore.command("comment")
@click.argument("comment_id")
@AS
def comment(comment_id: str, username: str | None) -> None:
    """Restore a comment by its UUID."""
    actor = person_or_system(username)
    _run(lambda: restore_comment(actor, comment_id), messages.COMMENT_RESTORED)


@restore.command("wiki-page")
@click.argument("reference")
@click.option("--project", "key", help="The project key. Default: the workspace wiki.")
@AS
def wiki_page(reference: str, key: str | None, username: str | None) -> None:
    """Restore a wiki page by slug or UUID. A slug means the page deleted last."""
    actor = person_or_system(username)
    project_id = None
    if key is not None:
        with reading():
            project_id = live_project_id(key)
    _run(
        lambda: restore_page(actor, reference, project_id=project_id),
        messages.restored_one(reference),
    )


@restore.command("project")
@click.argument("key")
@AS
def project(key: str, username: str | None) -> None:
    """Restore a project and its contents by its key."""
    actor = person_or_system(username)
    _run(lambda: restore_project(actor, key), messages.restored_one(key))
