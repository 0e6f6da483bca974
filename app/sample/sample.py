"""The sample project: making it through the verbs that anyone uses, and removing it again.

Two bots and whoever loads it make thirty tickets, six pages and a history in one transaction, so it
is there whole or not at all. Every row is audited; times are those of the moment.
"""

import re
from datetime import date, timedelta

from sqlalchemy import select

from app.accounts.identity import bot_as_actor
from app.accounts.models import BotMode, User, UserType
from app.audit.models import AuditEvent
from app.bots import service as bots
from app.bots import service as pausing
from app.config import Settings
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.errors import Conflict, NotFound
from app.database.session import session
from app.projects import labels
from app.projects import service as projects
from app.projects.models import Project
from app.projects.samples import DESCRIPTION, KEY, live_sample
from app.sample.sample_history import AFTER, BEFORE, BOTS, CHECKER, PERSON, Stage, Step
from app.sample.sample_tickets import LABELS, NOTES, PAGES, TICKETS, SampleTicket
from app.tickets.models import Ticket
from app.tools.catalog import catalog
from app.undo import service

NAME = "Sample project"
# The change of a bot that the person takes back.
TAKEN_BACK = f"{KEY}-19"


@operation(Access.HUMAN)
def load_sample(actor: Actor, *, settings: Settings) -> Project:
    """Make the sample project with its tickets, pages, notes, bots and their history.

    A key or a username that is taken, also by an earlier sample, gets a number. Raises Conflict
    ``invariant_violation`` while there is one, or while all bots are paused.
    """
    if live_sample(actor) is not None:
        raise Conflict("invariant_violation", "The sample project is there already.")
    if pausing.current_pause(actor) is not None:
        raise Conflict("invariant_violation", "All bots are paused; let them write again first.")
    project = projects.create_project(
        actor, key=_free_key(), name=NAME, description=DESCRIPTION, owner_user_id=actor.id
    )
    for name, color in LABELS:
        labels.create_label(actor, project.id, name=name, color=color)
    people = {PERSON: actor.username} | {
        name: _bot(actor, name, shown, project, settings).username for name, shown in BOTS
    }
    stage = _stage(actor, project, people, settings)
    for ticket in TICKETS:
        stage.play(_filing(ticket))
    for slug, title, body in PAGES:
        given = {"project": KEY, "slug": slug, "title": title, "body": body}
        stage.play(Step(PERSON, "create_wiki_page", given))
    for body, color in NOTES:
        given = {"project": KEY, "body": body, "color": color}
        stage.play(Step(PERSON, "create_sticky_note", given))
    for step in BEFORE:
        stage.play(step)
    _take_back(actor, stage.named(TAKEN_BACK))
    bots.update_bot(actor, _id_of(people[CHECKER]), mode=BotMode.READ.value)
    for step in AFTER:
        stage.play(step)
    for name, _ in BOTS:
        # Nobody knows these tokens; who wants to be one of the bots issues a new one.
        bots.revoke_token(actor, _id_of(people[name]))
    return project


def _free_key() -> str:
    """``SAMPLE``, or with the first number that no project has; keys stay taken for ever."""
    taken = set(session.scalars(select(Project.key).where(Project.key.startswith(KEY))))
    return next(key for key in _numbered(KEY, "") if key not in taken)


def _numbered(name: str, joint: str) -> list[str]:
    return [name, *(f"{name}{joint}{number}" for number in range(2, 1000))]


def _bot(actor: Actor, name: str, shown: str, project: Project, settings: Settings) -> User:
    """The bot of an earlier sample, awake again; else a new one, under the first free name."""
    for username in _numbered(name, "-"):
        found = session.scalar(select(User).where(User.username == username))
        if found is None:
            made = bots.create_bot(
                actor,
                username=username,
                display_name=shown,
                mode=BotMode.WRITE.value,
                project_ids=[project.id],
                can_edit_global_wiki=False,
                settings=settings,
            )
            return made.user
        if found.is_bot and not found.is_active and found.display_name == shown:
            bots.rotate_token(actor, found.id)
            mode = BotMode.WRITE.value
            fields = {"is_active": True, "mode": mode, "project_ids": [project.id]}
            return bots.update_bot(actor, found.id, **fields).user
    raise Conflict("duplicate_key", f"Every username like {name} is in use.")


def _id_of(username: str) -> str:
    return session.scalars(select(User.id).where(User.username == username)).one()


def _stage(actor: Actor, project: Project, people: dict[str, str], settings: Settings) -> Stage:
    names = people | {KEY: project.key}
    known = re.compile("|".join(map(re.escape, names)))

    def named(text: str) -> str:
        return known.sub(lambda found: names[found[0]], text)

    def actor_of(name: str) -> Actor:
        return actor if name == PERSON else bot_as_actor(_id_of(people[name]))[0]

    return Stage(catalog(settings.app_name), actor_of, named)


def _filing(ticket: SampleTicket) -> Step:
    """The call that files a ticket."""
    given = {
        "project": KEY,
        "title": ticket.title,
        "body": ticket.body,
        "type": ticket.type,
        "priority": ticket.priority,
        "state": ticket.state,
        "labels": list(ticket.labels),
    }
    if ticket.parent is not None:
        given["parent"] = f"{KEY}-{ticket.parent}"
    if ticket.mine:
        given["assignee"] = "me"
    if ticket.due is not None:
        today = date.fromisoformat(iso(now_ms())[:10])
        given["due_date"] = (today + timedelta(days=ticket.due)).isoformat()
    return Step(PERSON, "create_ticket", given)


def _take_back(actor: Actor, display_id: str) -> None:
    """Undo the last change of this ticket, as the person would on its page."""
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
    """Delete the sample project and deactivate its bots; raises NotFound where there is none.

    The audit log and the tool log keep what happened. A bot that was let into another project since
    is somebody's own by now, and stays awake.
    """
    project = live_sample(actor)
    if project is None:
        raise NotFound("project", KEY)
    for name, _ in BOTS:
        found = session.scalars(
            select(User).where(
                User.username.startswith(name), User.type == UserType.BOT.value, User.is_active
            )
        )
        for bot in found:
            if bot.project_ids == [project.id]:
                bots.delete_bot(actor, bot.id)
    projects.delete_project(actor, project.id)
    return project
