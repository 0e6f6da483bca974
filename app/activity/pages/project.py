"""The overview of a project, and its activity."""

from dataclasses import dataclass
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts import personal, user_refs
from app.accounts.builders import UserSummary, bot_json
from app.accounts.models import User, UserType
from app.activity import service
from app.activity.pages.blueprint import ROWS, address, pages
from app.activity.pages.log import rows
from app.activity.service import list_project_activity
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.database.session import reading, session
from app.projects import samples, ticket_rows
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.models import StateCategory
from app.web import choices
from app.web.guard import actor, write
from app.web.render import go, page
from app.web.texts import laid_out

EVENTS = 10


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first page of a project shows."""

    project: SeenProject
    owner: UserSummary
    # By category, in the order of work.
    counts: dict[str, int]
    # The latest first.
    events: list[dict[str, Any]]
    bots: list[dict[str, Any]]
    is_sample: bool


@operation(Access.HUMAN)
def overview(actor: Actor, project: SeenProject) -> Overview:
    """The project, which its loader has found, at a glance."""
    found = ticket_rows.live_by_category(project.id).get(project.id, {})
    sample = samples.live_sample(actor) if project.key.startswith(samples.KEY) else None
    return Overview(
        project=project,
        owner=user_refs.summaries([project.owner_user_id])[project.owner_user_id],
        counts={str(one): found.get(one, 0) for one in StateCategory},
        events=list_project_activity(actor, project.id, limit=EVENTS, cursor=None).data,
        bots=_bots(project.id),
        is_sample=sample is not None and sample.id == project.id,
    )


def _bots(project_id: str) -> list[dict[str, Any]]:
    """The active bots that may see the project, by name."""
    every = session.scalars(
        select(User)
        .where(User.type == UserType.BOT.value, User.is_active)
        .order_by(User.display_name)
    )
    reaching = [bot for bot in every if not bot.project_ids or project_id in bot.project_ids]
    tokens = user_refs.active_tokens(bot.id for bot in reaching)
    return [bot_json(bot, tokens.get(bot.id)) for bot in reaching]


@pages.get("/projects/<key>")
def show_project(key: str) -> Response:
    """Show how the project stands, who of the bots reaches it, and what happened last."""
    with reading():
        project = visible_by_key(actor(), key)
        found = overview(actor(), project)
        events = rows(found.events)
        description = laid_out({"description": project.description}, project.id, project.key)
    return page(
        "projects/show.html",
        project=project,
        overview=found,
        events=events,
        description=description["description"].html,
        sample=project if found.is_sample else None,
        is_default=choices.chosen()[choices.PROJECT] == project.key,
    )


@pages.get("/projects/<key>/activity")
def activity(key: str) -> Response:
    """Show what happened in the project, the newest first."""
    here = f"/projects/{key}/activity"
    cursor = request.args.get("cursor") or None
    with reading():
        project = visible_by_key(actor(), key)
        try:
            found = service.list_project_activity(actor(), project.id, limit=ROWS, cursor=cursor)
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(here)
        events = rows(found.data)
    next_url = address(here, {}, cursor=found.next_cursor) if found.next_cursor else ""
    return page(
        "projects/activity.html",
        project=project,
        events=events,
        first_url=here if cursor else "",
        next_url=next_url,
    )


@pages.post("/projects/<key>/default")
def make_default(key: str) -> Response:
    """Make it the project that new tickets and keys go to outside of any."""

    def work(present: Actor) -> None:
        project = visible_by_key(present, key)
        personal.choose(present, {choices.PROJECT: project.key})

    write(work)
    return choices.carry(go(f"/projects/{key}"), {choices.PROJECT: key})
