"""House rules for bots: a project's wiki page with the slug ``agents``."""

from sqlalchemy import bindparam, select

from app.core.actor import Actor
from app.database.session import Prepared, session
from app.mcp.registry import Resource
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
    """The resource of the house rules, if the actor can see any: listed before all others.

    Where a global page has that slug as well, its address means that one.
    """
    named = select(WikiPage.title, WikiPage.updated_at, WikiPage.project_id).where(
        WikiPage.slug == SLUG, loaders.live_for(actor)
    )
    # A page of a project is among the first two, as there is one global page at most.
    rows = session.execute(named.order_by(*loaders.MEANT_FIRST).limit(2)).all()
    if all(row.project_id is None for row in rows):
        return []
    return [Resource(URI, SLUG, rows[0].title, rows[0].updated_at)]
