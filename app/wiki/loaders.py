"""Finding wiki pages by id or slug: ``visible`` for reading, ``writable`` for a change."""

from typing import Any, Protocol

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select

from app.audit import receipts
from app.audit.receipts import VersionedKind
from app.audit.service import Target
from app.core.actor import Actor
from app.core.errors import Forbidden, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import by_id, session
from app.projects import loaders as projects
from app.projects.models import Project
from app.wiki import messages, slugs
from app.wiki.models import WikiPage

# The name of the global pages in a query string: ``project_id=null``.
GLOBAL = "null"

_IS_GLOBAL = WikiPage.project_id.is_(None)
_IN_LIVE_PROJECT = WikiPage.project_id.not_in(
    select(Project.id).where(Project.deleted_at.is_not(None))
)
_SEEN = or_(_IS_GLOBAL, _IN_LIVE_PROJECT)
_SEEN_WITH_ALLOWLIST = or_(
    _IS_GLOBAL,
    and_(_IN_LIVE_PROJECT, WikiPage.project_id.in_(bindparam("allowlist", expanding=True))),
)
# The order of preference among pages of one slug without a scope: the global page first, then the
# most recently changed.
MEANT_FIRST = (
    WikiPage.project_id.is_not(None),
    WikiPage.updated_at.desc(),
    WikiPage.id.desc(),
)


def seen_by(actor: Actor) -> ColumnElement[bool]:
    """Global pages, and pages of live projects that the actor can see."""
    if not actor.allowlist:
        return _SEEN
    return or_(_IS_GLOBAL, and_(_IN_LIVE_PROJECT, WikiPage.project_id.in_(sorted(actor.allowlist))))


def live_for(actor: Actor) -> ColumnElement[bool]:
    """Live pages that the actor can see."""
    return and_(WikiPage.deleted_at.is_(None), seen_by(actor))


def meant_by_slugs(actor: Actor) -> ColumnElement[bool]:
    """For each slug, the one live page that the actor gets without naming a scope."""
    rank = func.row_number().over(partition_by=WikiPage.slug, order_by=MEANT_FIRST)
    ranked = select(WikiPage.id, rank.label("rank")).where(live_for(actor)).subquery()
    return WikiPage.id.in_(select(ranked.c.id).where(ranked.c.rank == 1))


def seen(*, has_allowlist: bool) -> ColumnElement[bool]:
    """``seen_by`` for a prepared statement; ``allowlist_of`` gives its parameters."""
    return _SEEN_WITH_ALLOWLIST if has_allowlist else _SEEN


def allowlist_of(actor: Actor) -> dict[str, Any]:
    """The parameters of ``seen``: empty for an actor without an allowlist."""
    return {"allowlist": sorted(actor.allowlist)} if actor.allowlist else {}


def visible(
    actor: Actor, reference: str, *, project_id: str | None = None, include_deleted: bool = False
) -> WikiPage:
    """The page of an id or slug; ``project_id`` (an id or ``null``) is the scope of a slug.

    Raises NotFound, Gone, and InvalidField ``ambiguous_slug`` if several scopes have the slug.
    """
    if as_uuid(reference) is None:
        return _by_slug(actor, reference, project_id, include_deleted)
    return visible_by_id(actor, reference, include_deleted=include_deleted)


def visible_by_id(actor: Actor, page_id: str, *, include_deleted: bool = False) -> WikiPage:
    """The page of this id; raises NotFound or Gone."""
    page = by_id(WikiPage, page_id)
    if page is None or not _sees(actor, page):
        raise NotFound("wiki_page", page_id)
    if not include_deleted:
        _check_live(page, page_id)
    return page


def _sees(actor: Actor, page: WikiPage) -> bool:
    return page.project_id is None or actor.sees_project(page.project_id)


def _check_live(page: WikiPage, reference: str) -> None:
    if page.project_id is not None and session.get_one(Project, page.project_id).is_deleted:
        raise Gone("project", page.project_id)
    if page.is_deleted:
        raise Gone("wiki_page", reference)


def _by_slug(actor: Actor, slug: str, project_id: str | None, include_deleted: bool) -> WikiPage:
    """The live page of the slug in its scope, else the last deleted page with the slug."""
    if not slugs.is_slug(slug):
        raise NotFound("wiki_page", slug)
    statement = select(WikiPage).where(WikiPage.slug == slug, seen_by(actor))
    if project_id == GLOBAL:
        statement = statement.where(_IS_GLOBAL)
    elif project_id is not None:
        statement = statement.where(or_(WikiPage.project_id == project_id, _IS_GLOBAL))
    statement = statement.order_by(WikiPage.created_at.desc(), WikiPage.id.desc())
    pages = session.scalars(statement).all()
    live = [page for page in pages if not page.is_deleted]
    if project_id not in (None, GLOBAL):
        live.sort(key=lambda page: page.project_id is None)
    elif len(live) > 1:
        raise InvalidField("slug", "ambiguous_slug", messages.SEVERAL_WIKIS)
    if live:
        return live[0]
    if not pages:
        return _of_deleted_project(actor, slug, project_id, include_deleted)
    if not include_deleted:
        raise Gone("wiki_page", slug)
    return pages[0]


def _of_deleted_project(
    actor: Actor, slug: str, project_id: str | None, include_deleted: bool
) -> WikiPage:
    """The page of the slug in a deleted project; raises NotFound, and Gone for the project."""
    statement = select(WikiPage).where(WikiPage.slug == slug, WikiPage.project_id.is_not(None))
    if project_id is not None:
        statement = statement.where(WikiPage.project_id == as_uuid(project_id))
    statement = statement.order_by(WikiPage.created_at.desc(), WikiPage.id.desc())
    page = next((page for page in session.scalars(statement) if _sees(actor, page)), None)
    if page is None:
        raise NotFound("wiki_page", slug)
    if not include_deleted:
        _check_live(page, slug)
    return page


def writable(actor: Actor, page_id: str, *, include_deleted: bool = False) -> WikiPage:
    """The page, locked, if the actor may change it.

    Raises NotFound, OutsideAllowlist, Forbidden ``bot_cannot_edit_global_wiki`` or Gone.
    """
    identifier = as_uuid(page_id)
    page = None
    if identifier is not None:
        statement = select(WikiPage).where(WikiPage.id == identifier)
        page = session.scalars(statement.with_for_update(key_share=True)).first()
    if page is None:
        raise NotFound("wiki_page", page_id)
    project = receipts.begin(actor, VersionedKind.PAGE, page)
    if page.project_id is None:
        check_global(actor)
    else:
        projects.writable(actor, project or page.project_id)
    if page.is_deleted and not include_deleted:
        raise Gone("wiki_page", page_id)
    return page


def check_global(actor: Actor) -> None:
    """Raise Forbidden for a bot that may not write global pages."""
    if actor.is_bot and not actor.can_edit_global_wiki:
        raise Forbidden("bot_cannot_edit_global_wiki")


class _Identified(Protocol):
    """A page: the model, or a read-only value of it."""

    @property
    def id(self) -> str: ...

    @property
    def project_id(self) -> str | None: ...


def target(page: _Identified) -> Target:
    """The page as an event's target."""
    return Target("wiki_page", page.id, project_id=page.project_id)
