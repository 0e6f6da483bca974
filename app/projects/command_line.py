"""What several commands ask for: a human, a project by its key, peace for webhooks."""

import click
from sqlalchemy import select

from app.accounts.models import User, UserType
from app.core.actor import Actor, ActorKind
from app.database.session import session
from app.projects.models import Project

WITHOUT_WEBHOOKS = click.option(
    "--without-webhooks",
    is_flag=True,
    help="Tell no webhook of what is imported; the audit log holds it all the same.",
)


def acting_human(username: str | None) -> Actor:
    """The human that a command acts as: the one named, else the only one there is.

    Raises ClickException where there is none, or several and none is named.
    """
    statement = select(User).where(User.type == UserType.HUMAN.value, User.is_active)
    if username is not None:
        statement = statement.where(User.username == username)
    found = session.scalars(statement.limit(2)).all()
    if not found:
        raise click.ClickException("There is no such active human; run 'flask setup-admin' first.")
    if len(found) > 1:
        raise click.ClickException("There are several humans; say as whom with --as USERNAME.")
    return Actor(kind=ActorKind.HUMAN, user_id=found[0].id, username=found[0].username)


def live_project_id(key: str) -> str:
    """The id of the live project with this key; raises ClickException."""
    project = session.scalars(select(Project).where(Project.key == key)).first()
    if project is None or project.is_deleted:
        raise click.ClickException(f"There is no project with the key {key}.")
    return project.id
