"""flask bots list|create|rotate|revoke|deactivate|pause|resume; rewind is in ``rewind.py``."""

import json
from functools import partial

import click

from app.accounts.builders import bot_json
from app.accounts.models import BotMode
from app.bots import service
from app.commands import AS, JSON_LINES, PAGE_SIZE, all_rows, messages, show_once
from app.commands.rewind import rewind
from app.config import Settings
from app.core.actor import SYSTEM
from app.core.clock import iso
from app.database.session import reading, run_write
from app.http.current import current_settings
from app.projects.command_line import acting_human, bot_id_of, live_project_id, person_or_system


@click.group("bots")
def bots() -> None:
    """Manage bots and their tokens."""


@bots.command("list")
@JSON_LINES
def list_bots(as_json: bool) -> None:
    """List all bots and whether they are paused."""
    for bot in all_rows(lambda cursor: service.list_bots(SYSTEM, limit=PAGE_SIZE, cursor=cursor)):
        token = bot["active_token"]
        prefix = f"app_{token['prefix']}..." if token else messages.NO_TOKEN
        state = "active" if bot["is_active"] else "inactive"
        line = f"{bot['username']:<32} {bot['mode']:<6} {state:<9} {prefix}"
        click.echo(json.dumps(bot) if as_json else line)
    with reading():
        pause = service.current_pause(SYSTEM)
    if pause is not None and not as_json:
        click.echo(messages.all_paused_since(iso(pause.since)))


@bots.command("create")
@click.argument("name")
@click.option("--mode", type=click.Choice([str(mode) for mode in BotMode]), required=True)
@click.option(
    "--project", "keys", multiple=True, help="A project the bot can access. Default: all projects."
)
@AS
def create(name: str, mode: str, keys: tuple[str, ...], username: str | None) -> None:
    """Create a bot and print its token. The token is shown once."""
    settings = current_settings()
    with reading():
        actor = acting_human(username)
        project_ids = [live_project_id(key) for key in keys]
    issued = run_write(
        lambda: service.create_bot(
            actor, username=name, mode=mode, project_ids=project_ids, settings=settings
        )
    )
    _show(name, issued.plaintext, settings)


def _show(name: str, token: str, settings: Settings) -> None:
    show_once(token, partial(messages.token_lost, name))
    click.echo(messages.mcp_url(settings.base_url, token), err=True)


@bots.command("rotate")
@click.argument("name")
@AS
def rotate(name: str, username: str | None) -> None:
    """Issue and print a new token. The old one stops working immediately."""
    with reading():
        actor, bot_id = acting_human(username), bot_id_of(name)
    issued = run_write(lambda: service.rotate_token(actor, bot_id))
    _show(name, issued.plaintext, current_settings())


@bots.command("revoke")
@click.argument("name")
@AS
def revoke(name: str, username: str | None) -> None:
    """Revoke a bot's token."""
    with reading():
        actor, bot_id = acting_human(username), bot_id_of(name)
    run_write(lambda: service.revoke_token(actor, bot_id))
    click.echo(messages.token_revoked(name))


@bots.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Print a bot as JSON."""
    with reading():
        bot = service.get_bot(SYSTEM, bot_id_of(name))
        click.echo(json.dumps(bot_json(bot.user, bot.token), indent=2))


@bots.command("pause")
@click.argument("name", required=False)
@AS
def pause(name: str | None, username: str | None) -> None:
    """Pause a bot, or all bots. They can still read."""
    if name is not None:
        _set_pause(name, username, is_paused=True)
        return
    actor = person_or_system(username)
    run_write(lambda: service.pause_bots(actor))
    click.echo(messages.ALL_BOTS_PAUSED)


def _set_pause(name: str, username: str | None, *, is_paused: bool) -> None:
    with reading():
        actor, bot_id = acting_human(username), bot_id_of(name)
    run_write(lambda: service.update_bot(actor, bot_id, is_paused=is_paused))
    click.echo(messages.paused(name, is_paused=is_paused))


@bots.command("resume")
@click.argument("name", required=False)
@AS
def resume(name: str | None, username: str | None) -> None:
    """Resume a bot, or all bots."""
    if name is not None:
        _set_pause(name, username, is_paused=False)
        return
    actor = person_or_system(username)
    run_write(lambda: service.resume_bots(actor))
    click.echo(messages.ALL_BOTS_RESUMED)


bots.add_command(rewind)
