"""What the links of a text lead to, as its reader sees it."""

from sqlalchemy import ColumnElement, func, literal, or_, select, union_all

from app.core.actor import Actor
from app.core.db import AnySelect, session
from app.markdown import Broken, Links, Resolved, Target, Targets
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.models import Ticket
from app.wiki import loaders
from app.wiki.addresses import address_of, address_of_new
from app.wiki.models import WikiPage

# Of each kind; a body of a megabyte could name many more, and nobody would read them.
RESOLVED = 5000
PAGE = "page"
TICKET = "ticket"


def targets(actor: Actor, project_id: str | None, key: str | None, links: Links) -> Targets:
    """The targets of links in a text of this project, or of none, in one statement.

    A page is the project's own, else the global one (decisions.md, section 2, Wiki page).
    """
    slugs, display_ids = links.slugs[:RESOLVED], links.tickets[:RESOLVED]
    asked = [
        *([_pages(actor, project_id, slugs)] if slugs else []),
        *([_tickets(actor, display_ids)] if display_ids else []),
    ]
    pages: dict[str, Target] = {slug: Broken(address_of_new(key, slug)) for slug in links.slugs}
    tickets: dict[str, Target] = {}
    rows = session.execute(union_all(*asked)).all() if asked else []
    # The project's page comes after the global one of its slug, and so stands.
    for row in sorted(rows, key=lambda row: row.project_id is not None):
        if row.kind == PAGE:
            home = key if row.project_id is not None else None
            pages[row.name] = Resolved(address_of(home, row.name, row.id), row.title)
        else:
            is_done = row.category == StateCategory.DONE.value
            tickets[row.name] = Resolved(f"/tickets/{row.name}", row.title, row.state, is_done)
    return Targets(pages, tickets)


def _pages(actor: Actor, project_id: str | None, slugs: tuple[str, ...]) -> AnySelect:
    scope: ColumnElement[bool] = WikiPage.project_id.is_(None)
    if project_id is not None:
        scope = or_(scope, WikiPage.project_id == project_id)
    return select(
        literal(PAGE).label("kind"),
        WikiPage.slug.label("name"),
        WikiPage.title,
        WikiPage.id,
        WikiPage.project_id,
        literal("").label("state"),
        literal("").label("category"),
    ).where(WikiPage.slug.in_(slugs), scope, WikiPage.deleted_at.is_(None), loaders.seen_by(actor))


def _tickets(actor: Actor, display_ids: tuple[str, ...]) -> AnySelect:
    statement = (
        select(
            literal(TICKET).label("kind"),
            Ticket.display_id.label("name"),
            Ticket.title,
            Ticket.id,
            Ticket.project_id,
            func.coalesce(WorkflowState.name, "").label("state"),
            func.coalesce(WorkflowState.category, "").label("category"),
        )
        .join(Project, Project.id == Ticket.project_id)
        .outerjoin(WorkflowState, WorkflowState.id == Ticket.state_id)
        .where(
            Ticket.display_id.in_(display_ids),
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
        )
    )
    if actor.allowlist:
        statement = statement.where(Ticket.project_id.in_(actor.allowlist))
    return statement
