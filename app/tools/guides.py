"""House rules for bots: a project's wiki page with the slug ``agents`` (decisions.md, 4)."""

from sqlalchemy import bindparam, select

from app.core.actor import Actor
from app.core.db import Prepared, session
from app.mcp.registry import Resource
from app.projects.models import Project
from app.wiki import loaders
from app.wiki.models import WikiPage

SLUG = "agents"
URI = f"wiki://page/{SLUG}"


_GUIDE = Prepared(
    select(WikiPage.id).where(
        WikiPage.slug == SLUG,
        WikiPage.project_id == bindparam("project_id"),
        WikiPage.deleted_at.is_(None),
    )
)


def of_project(project_id: str) -> dict[str, str]:
    """``guide`` for a project that has such a page, to be laid into an answer."""
    return {"guide": URI} if _GUIDE.all(project_id=project_id) else {}


def pages(actor: Actor) -> list[Resource]:
    """The resource of the house rules, if the actor can see any: listed before all others."""
    row = session.execute(
        select(WikiPage.title, WikiPage.updated_at)
        .join(Project, Project.id == WikiPage.project_id)
        .where(WikiPage.slug == SLUG, WikiPage.deleted_at.is_(None), loaders.seen_by(actor))
        .order_by(WikiPage.updated_at.desc())
        .limit(1)
    ).first()
    return [] if row is None else [Resource(URI, SLUG, row.title, row.updated_at)]
