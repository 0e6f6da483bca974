"""Loading and removing the sample project, through the verbs and tools that everyone uses.

Two bots and the person who loads it create tickets, pages and a history in one transaction. Every
change is audited.
"""

import re
from datetime import date, timedelta

import click
from sqlalchemy import select

from app.accounts.authentication import bot_as_actor
from app.accounts.models import BotMode, User, UserType
from app.audit.models import AuditEvent
from app.bots import service as bots
from app.config import Settings
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.errors import Conflict, NotFound
from app.database.session import reading, run_write, session
from app.http.current import current_settings
from app.projects import labels
from app.projects import service as projects
from app.projects.command_line import acting_human
from app.projects.models import Project
from app.projects.samples import DESCRIPTION, KEY, live_sample
from app.sample.sample_history import AFTER, BEFORE, BOTS, CHECKER, PERSON, Stage, Step
from app.sample.sample_tickets import LABELS, NOTES, PAGES, TICKETS, SampleTicket
from app.tickets.models import Ticket
from app.tools.catalog import catalog
from app.undo import service

NAME = "Sample project"
# The ticket on which the person undoes a bot's change.
UNDONE = f"{KEY}-19"


@operation(Access.HUMAN)
def load_sample(actor: Actor, *, settings: Settings) -> Project:
    """Create the sample project with its tickets, pages, notes, bots and their history.

    A number is added to a key or username that is taken. Raises Conflict ``invariant_violation``
    while a sample exists, or while all bots are paused.
    """
    if live_sample(actor) is not None:
        raise Conflict("invariant_violation", "The sample project already exists.")
    if bots.current_pause(actor) is not None:
        raise Conflict("invariant_violation", "All bots are paused. Resume them first.")
    project = projects.create_project(
        actor, key=_free_key(), name=NAME, description=DESCRIPTION, owner_user_id=actor.id
    )
    for name, color in LABELS:
        labels.create_label(actor, project.id, name=name, color=color)
    people = {PERSON: actor.username} | {
        name: _bot(actor, name, display_name, project, settings).username
        for name, display_name in BOTS
    }
    stage = _stage(actor, project, people, settings)
    for ticket in TICKETS:
        stage.run(_create_step(ticket))
    for slug, title, body in PAGES:
        args = {"project": KEY, "slug": slug, "title": title, "body": body}
        stage.run(Step(PERSON, "create_wiki_page", args))
    for body, color in NOTES:
        args = {"project": KEY, "body": body, "color": color}
        stage.run(Step(PERSON, "create_sticky_note", args))
    for step in BEFORE:
        stage.run(step)
    _undo_last_change(actor, stage.named(UNDONE))
    bots.update_bot(actor, _id_of(people[CHECKER]), mode=BotMode.READ.value)
    for step in AFTER:
        stage.run(step)
    for name, _ in BOTS:
        # These tokens were never given to anyone.
        bots.revoke_token(actor, _id_of(people[name]))
    return project


def _free_key() -> str:
    """``SAMPLE``, with a number if it is taken; deleted projects keep their keys."""
    taken = set(session.scalars(select(Project.key).where(Project.key.startswith(KEY))))
    return next(key for key in _numbered(KEY, "") if key not in taken)


def _numbered(name: str, separator: str) -> list[str]:
    return [name, *(f"{name}{separator}{number}" for number in range(2, 1000))]


def _bot(actor: Actor, name: str, display_name: str, project: Project, settings: Settings) -> User:
    """The bot of an earlier sample, reactivated; else a new one with the first free name."""
    for username in _numbered(name, "-"):
        user = session.scalar(select(User).where(User.username == username))
        if user is None:
            return bots.create_bot(
                actor,
                username=username,
                display_name=display_name,
                mode=BotMode.WRITE.value,
                project_ids=[project.id],
                can_edit_global_wiki=False,
                settings=settings,
            ).user
        if user.is_bot and not user.is_active and user.display_name == display_name:
            bots.rotate_token(actor, user.id)
            mode = BotMode.WRITE.value
            fields = {"is_active": True, "mode": mode, "project_ids": [project.id]}
            return bots.update_bot(actor, user.id, **fields).user
    raise Conflict("duplicate_key", f"All usernames like {name} are already taken.")


def _id_of(username: str) -> str:
    return session.scalars(select(User.id).where(User.username == username)).one()


def _stage(actor: Actor, project: Project, people: dict[str, str], settings: Settings) -> Stage:
    names = people | {KEY: project.key}
    placeholders = re.compile("|".join(map(re.escape, names)))

    def named(text: str) -> str:
        return placeholders.sub(lambda match: names[match[0]], text)

    def actor_of(name: str) -> Actor:
        return actor if name == PERSON else bot_as_actor(_id_of(people[name]))[0]

    return Stage(catalog(settings.app_name), actor_of, named)


def _create_step(ticket: SampleTicket) -> Step:
    args = {
        "project": KEY,
        "title": ticket.title,
        "body": ticket.body,
        "type": ticket.type,
        "priority": ticket.priority,
        "state": ticket.state,
        "labels": list(ticket.labels),
    }
    if ticket.parent is not None:
        args["parent"] = f"{KEY}-{ticket.parent}"
    if ticket.mine:
        args["assignee"] = "me"
    if ticket.due is not None:
        today = date.fromisoformat(iso(now_ms())[:10])
        args["due_date"] = (today + timedelta(days=ticket.due)).isoformat()
    return Step(PERSON, "create_ticket", args)


def _undo_last_change(actor: Actor, display_id: str) -> None:
    event_id = session.scalars(
        select(AuditEvent.id)
        .join(Ticket, Ticket.id == AuditEvent.ticket_id)
        .where(AuditEvent.event_type == "ticket.updated", Ticket.display_id == display_id)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(1)
    ).one()
    service.undo_event(actor, event_id)


@operation(Access.HUMAN)
def remove_sample(actor: Actor) -> Project:
    """Delete the sample project and deactivate its bots; raises NotFound if there is no sample.

    A bot that may see another project stays active, because someone uses it.
    """
    project = live_sample(actor)
    if project is None:
        raise NotFound("project", KEY)
    for name, _ in BOTS:
        candidates = session.scalars(
            select(User).where(
                User.username.startswith(name), User.type == UserType.BOT.value, User.is_active
            )
        )
        for bot in candidates:
            if bot.project_ids == [project.id]:
                bots.delete_bot(actor, bot.id)
    projects.delete_project(actor, project.id)
    return project


@click.command("sample-project")
@click.option("--remove", is_flag=True, help="Delete the project and deactivate its bots.")
@click.option("--as", "username", help="The person who acts. Required if there are several.")
def sample_project(username: str | None, *, remove: bool) -> None:
    """Load a project to explore, with tickets, pages and the history of two bots.

    Loading it makes ordinary, audited changes. With --remove, the audit log is kept, and the
    project's key and the bots' usernames stay taken.
    """
    settings = current_settings()
    with reading():
        actor = acting_human(username)
    if remove:
        project = run_write(lambda: remove_sample(actor))
        click.echo(f"Removed {project.key}; its bots are deactivated.")
        return
    project = run_write(lambda: load_sample(actor, settings=settings))
    click.echo(f"Loaded {project.key}: {settings.base_url}/projects/{project.key}")
