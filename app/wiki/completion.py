"""What a link being typed may mean."""

from typing import Any

from sqlalchemy import ColumnElement, func, or_, select

from app.core.actor import Access, Actor, operation
from app.database.session import session
from app.wiki import loaders
from app.wiki.models import WikiPage

COMPLETIONS = 8


@operation(Access.READ)
def pages_like(actor: Actor, project_id: str | None, typed: str) -> list[dict[str, Any]]:
    """Pages that a link being typed may mean: of the project and global ones, best first."""
    wanted = typed.strip().lower()
    scope: ColumnElement[bool] = WikiPage.project_id.is_(None)
    if project_id is not None:
        scope = or_(scope, WikiPage.project_id == project_id)
    statement = select(WikiPage.slug, WikiPage.title, WikiPage.project_id).where(
        scope, WikiPage.deleted_at.is_(None), loaders.seen_by(actor)
    )
    title = func.lower(WikiPage.title)
    starts = or_(
        WikiPage.slug.startswith(wanted, autoescape=True), title.startswith(wanted, autoescape=True)
    )
    if wanted:
        statement = statement.where(
            or_(
                WikiPage.slug.contains("-".join(wanted.split()), autoescape=True),
                title.contains(wanted, autoescape=True),
            )
        ).order_by(starts.desc(), title)
    else:
        statement = statement.order_by(WikiPage.updated_at.desc(), WikiPage.id)
    found: dict[str, dict[str, Any]] = {}
    # A project's page hides the global page of its slug.
    for row in session.execute(statement.limit(2 * COMPLETIONS)):
        if row.slug not in found or row.project_id is not None:
            found[row.slug] = dict(row._mapping)
    return list(found.values())[:COMPLETIONS]
