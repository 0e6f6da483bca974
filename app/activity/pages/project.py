"""The pages of a project's overview and of its activity."""

from dataclasses import dataclass
from typing import Any

from flask import Response, request
from sqlalchemy import func, select

from app.accounts import personal, user_refs
from app.accounts.builders import UserSummary
from app.accounts.models import User, UserType
from app.accounts.users import with_tokens
from app.activity.pages.audit_filters import address
from app.activity.pages.log import ROWS, pages
from app.activity.sentences import in_words
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
    project: SeenProject
    owner: UserSummary
    # Live tickets by category, in the order of StateCategory.
    counts: dict[str, int]
    # Newest first.
    events: list[dict[str, Any]]
    bots: list[dict[str, Any]]
    is_sample: bool


@operation(Access.HUMAN)
def overview(actor: Actor, project: SeenProject) -> Overview:
    """The overview of a project that the actor can see."""
    counts = ticket_rows.live_by_category(project.id).get(project.id, {})
    sample = samples.live_sample(actor) if project.key.startswith(samples.KEY) else None
    return Overview(
        project=project,
        owner=user_refs.summaries([project.owner_user_id])[project.owner_user_id],
        counts={str(category): counts.get(category, 0) for category in StateCategory},
        events=list_project_activity(actor, project.id, limit=EVENTS, cursor=None).data,
        bots=_bots(project.id),
        is_sample=sample is not None and sample.id == project.id,
    )


def _bots(project_id: str) -> list[dict[str, Any]]:
    """The active bots whose allowlist admits the project, by name."""
    bots = session.scalars(
        select(User)
        .where(User.type == UserType.BOT.value, User.is_active)
        .order_by(func.lower(User.display_name), User.id)
    )
    return with_tokens(bot for bot in bots if not bot.project_ids or project_id in bot.project_ids)


@pages.get("/projects/<key>")
def show_project(key: str) -> Response:
    with reading():
        project = visible_by_key(actor(), key)
        content = overview(actor(), project)
        events = in_words(content.events)
        description = laid_out({"description": project.description}, project.id, project.key)
    return page(
        "projects/show.html",
        project=project,
        overview=content,
        events=events,
        description=description["description"].html,
        sample=project if content.is_sample else None,
        is_default=choices.chosen()[choices.PROJECT] == project.key,
    )


@pages.get("/projects/<key>/activity")
def activity(key: str) -> Response:
    here = f"/projects/{key}/activity"
    cursor = request.args.get("cursor") or None
    with reading():
        project = visible_by_key(actor(), key)
        try:
            listed = list_project_activity(actor(), project.id, limit=ROWS, cursor=cursor)
        except InvalidField:
            # The cursor is invalid: start at the first page.
            return go(here)
        events = in_words(listed.data)
    return page(
        "projects/activity.html",
        project=project,
        events=events,
        first_url=here if cursor else "",
        next_url=address(here, {}, cursor=listed.next_cursor) if listed.next_cursor else "",
    )


@pages.post("/projects/<key>/default")
def make_default(key: str) -> Response:
    """Make it the project of new tickets and shortcuts outside of any project."""

    def work(person: Actor) -> None:
        project = visible_by_key(person, key)
        personal.choose(person, {choices.PROJECT: project.key})

    write(work)
    return choices.carry(go(f"/projects/{key}"), {choices.PROJECT: key})
