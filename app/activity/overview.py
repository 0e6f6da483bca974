"""A project at a glance: how its work stands, who of the bots reaches it, what happened last."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts import user_refs
from app.accounts.builders import UserSummary, bot_json
from app.accounts.models import User, UserType
from app.activity.service import list_project_activity
from app.core.actor import Access, Actor, operation
from app.database.session import session
from app.projects import samples, ticket_rows
from app.projects.loaders import SeenProject
from app.projects.models import StateCategory

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
