"""The targets of the links of a text, for one reader."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, cast, func, literal, null, or_, select, union_all

from app.accounts.models import User, UserType
from app.core.actor import Actor
from app.database.columns import Id
from app.database.session import AnySelect, Prepared
from app.database.sql_functions import Unindexed
from app.markdown import Broken, Links, Mentioned, Resolved, Target, Targets
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.models import Ticket
from app.web.wiki_addresses import address_of, address_of_new
from app.wiki import loaders
from app.wiki.models import WikiPage

# A body of a megabyte could name many more.
MAX_LINKS_PER_KIND = 5000
PAGE = "page"
TICKET = "ticket"
USER = "user"

# An existing target: kind, slug, display id or username, title or name, id, project id, and for
# tickets the name and category of the state, for users their type.
Known = tuple[str, str, str, str, str | None, str, str]


def targets(actor: Actor, project_id: str | None, key: str | None, links: Links) -> Targets:
    """The targets of links in a text of the project, or of none, in one statement."""
    return targets_of(known(actor, project_id, links), key, links)


def known(actor: Actor, project_id: str | None, links: Links) -> list[Known]:
    """The existing targets, visible to the actor, of links in a text of the project, or none."""
    values: dict[str, Any] = {
        name: list(names[:MAX_LINKS_PER_KIND])
        for name, names in (
            ("slugs", links.slugs),
            ("display_ids", links.tickets),
            ("usernames", links.users),
        )
        if names
    }
    if not values:
        return []
    allowlist = loaders.allowlist_of(actor)
    scope = {"project_id": project_id} if project_id is not None and links.slugs else {}
    statement = _statement(frozenset(values), bool(scope), bool(allowlist))
    return [*map(tuple, statement.all(**values, **scope, **allowlist))]


def targets_of(rows: Sequence[Known], key: str | None, links: Links) -> Targets:
    """The targets of links in a text of the project with this key, or of none.

    A slug means the project's page if it exists, else the global one.
    """
    pages: dict[str, Target] = {}
    tickets: dict[str, Target] = {}
    users: dict[str, Mentioned] = {}
    # Sorted so that the project's page replaces the global one with its slug.
    for kind, name, title, identifier, project_id, state, category in sorted(
        rows, key=_is_of_project
    ):
        if kind == PAGE:
            scope = key if project_id is not None else None
            pages[name] = Resolved(address_of(scope, name, identifier), title)
        elif kind == USER:
            users[name] = Mentioned(title, state == UserType.BOT.value)
        else:
            is_done = category == StateCategory.DONE.value
            tickets[name] = Resolved(f"/tickets/{name}", title, state, is_done)
    missing = [slug for slug in links.slugs if slug not in pages]
    broken = {slug: Broken(address_of_new(key, slug)) for slug in missing}
    return Targets(pages | broken, tickets, users)


def _is_of_project(row: Known) -> bool:
    return row[4] is not None


@lru_cache
def _statement(names: frozenset[str], in_project: bool, has_allowlist: bool) -> Prepared:
    """Cached, because building the statement costs more than running it."""
    parts = []
    if "slugs" in names:
        parts.append(_pages(in_project, has_allowlist))
    if "display_ids" in names:
        parts.append(_tickets(has_allowlist))
    if "usernames" in names:
        parts.append(_users())
    return Prepared(union_all(*parts) if len(parts) > 1 else parts[0], planned_once=True)


def _pages(in_project: bool, has_allowlist: bool) -> AnySelect:
    # Force the index on slugs: a text names few, and a scope can have thousands of pages.
    page_scope: ColumnElement[str | None] = Unindexed(WikiPage.project_id)
    scope: ColumnElement[bool] = page_scope.is_(None)
    if in_project:
        scope = or_(scope, page_scope == bindparam("project_id", type_=Id()))
    return select(
        literal(PAGE).label("kind"),
        WikiPage.slug.label("name"),
        WikiPage.title,
        WikiPage.id,
        WikiPage.project_id,
        literal("").label("state"),
        literal("").label("category"),
    ).where(
        WikiPage.slug.in_(bindparam("slugs", expanding=True)),
        scope,
        WikiPage.deleted_at.is_(None),
        loaders.seen(has_allowlist=has_allowlist),
    )


def _users() -> AnySelect:
    return select(
        literal(USER).label("kind"),
        User.username.label("name"),
        User.display_name.label("title"),
        User.id,
        cast(null(), Id()).label("project_id"),
        User.type.label("state"),
        literal("").label("category"),
    ).where(User.username.in_(bindparam("usernames", expanding=True)))


def _tickets(has_allowlist: bool) -> AnySelect:
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
            Ticket.display_id.in_(bindparam("display_ids", expanding=True)),
            Ticket.deleted_at.is_(None),
            Project.deleted_at.is_(None),
        )
    )
    if has_allowlist:
        statement = statement.where(Ticket.project_id.in_(bindparam("allowlist", expanding=True)))
    return statement
