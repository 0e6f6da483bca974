"""Options and arguments that several commands share: a person, a bot, a project, webhooks."""

import click
from sqlalchemy import select

from app.accounts.login import human_actor
from app.accounts.models import User, UserType
from app.core.actor import SYSTEM, Actor
from app.database.session import reading, session
from app.projects import messages
from app.projects.models import Project

WITHOUT_WEBHOOKS = click.option(
    "--without-webhooks",
    is_flag=True,
    help="Do not send webhooks for this import. The audit log still records it.",
)


def acting_human(username: str | None) -> Actor:
    """The human that a command acts as: the named one, else the only one.

    Raises ClickException if there is none, or if several exist and none is named.
    """
    statement = select(User).where(User.type == UserType.HUMAN.value, User.is_active)
    if username is not None:
        statement = statement.where(User.username == username)
    humans = session.scalars(statement.limit(2)).all()
    if not humans and username is not None:
        raise click.ClickException(messages.no_active_person(username))
    if not humans:
        raise click.ClickException(messages.NO_ACTIVE_USER)
    if len(humans) > 1:
        raise click.ClickException(messages.SEVERAL_PEOPLE)
    return human_actor(humans[0])


def person_or_system(username: str | None) -> Actor:
    """The person that a command acts as, or the system if none is named; raises ClickException."""
    if username is None:
        return SYSTEM
    with reading():
        return acting_human(username)


def bot_id_of(name: str) -> str:
    """The id of the bot with this username; raises ClickException."""
    bot_id = session.scalars(
        select(User.id).where(User.username == name, User.type == UserType.BOT.value)
    ).first()
    if bot_id is None:
        raise click.ClickException(messages.bot_not_found(name))
    return bot_id


def live_project_id(key: str) -> str:
    """The id of the live project with this key; raises ClickException."""
    project = session.scalars(select(Project).where(Project.key == key)).first()
    if project is None or project.is_deleted:
        raise click.ClickException(messages.project_not_found(key))
    return project.id
