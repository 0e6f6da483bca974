"""flask users list|create|reset-password|deactivate|activate."""

import json

import click
from sqlalchemy import select

from app.accounts import users as verbs
from app.accounts.models import User, UserType
from app.config import settings_at_hand
from app.core.actor import SYSTEM
from app.database.session import reading, session

PASSWORD = click.option(
    "--password",
    prompt=True,
    hide_input=True,
    confirmation_prompt=True,
    help="At least 12 characters. Asked for unless given, which keeps it out of process lists.",
)
EVERYONE = 200


@click.group("users")
def users() -> None:
    """Look after the people who log in."""


def _human_id(username: str) -> str:
    with reading():
        found = session.scalars(
            select(User.id).where(User.username == username, User.type == UserType.HUMAN.value)
        ).first()
    if found is None:
        raise click.ClickException(f"There is no human {username}.")
    return found


@users.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_users(as_json: bool) -> None:
    """List people and bots."""
    cursor = None
    while True:
        with reading():
            page = verbs.list_users(SYSTEM, limit=EVERYONE, cursor=cursor)
        for user in page.data:
            state = "active" if user["is_active"] else "inactive"
            line = f"{user['username']:<32} {user['type']:<6} {state:<9} {user['display_name']}"
            click.echo(json.dumps(user) if as_json else line)
        cursor = page.next_cursor
        if cursor is None:
            return


@users.command("create")
@click.argument("username")
@click.option("--display-name", help="The name people see; the username unless given.")
@PASSWORD
def create(username: str, display_name: str | None, password: str) -> None:
    """Create a person who can log in."""
    user = verbs.create_user(
        SYSTEM,
        username=username,
        password=password,
        display_name=display_name,
        settings=settings_at_hand(),
    )
    click.echo(f"Created {user.username}.")


@users.command("reset-password")
@click.argument("username")
@PASSWORD
def reset_password(username: str, password: str) -> None:
    """Give a person a new password and end all of their sessions."""
    settings = settings_at_hand()
    verbs.update_user(SYSTEM, _human_id(username), settings=settings, password=password)
    click.echo(f"{username} has a new password and is logged out everywhere.")


@users.command("deactivate")
@click.argument("username")
def deactivate(username: str) -> None:
    """Keep a person out; what they wrote stays. The last active one cannot be kept out."""
    settings = settings_at_hand()
    verbs.update_user(SYSTEM, _human_id(username), settings=settings, is_active=False)
    click.echo(f"{username} is inactive.")


@users.command("activate")
@click.argument("username")
def activate(username: str) -> None:
    """Let a person in again."""
    settings = settings_at_hand()
    verbs.update_user(SYSTEM, _human_id(username), settings=settings, is_active=True)
    click.echo(f"{username} is active.")
