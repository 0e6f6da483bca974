"""Reads for the wiki's HTML pages, in a fixed number of statements.

Unlike the lists of the API, an index or a history is not paged through: it is cut off.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Integer, bindparam, cast, exists, func, or_, select
from sqlalchemy.orm import aliased

from app.accounts.builders import UserSummary
from app.accounts.models import User
from app.audit.models import HAS_INDEXED_TARGET, AuditEvent
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.session import AnyRow, Prepared, session
from app.database.sql_functions import position_in_any_case
from app.projects.models import Project
from app.wiki import loaders
from app.wiki.models import WikiLink, WikiPage, WikiRevision, in_scope
from app.wiki.slug_resolution import USER_COLUMNS, SeenPage, live_in_scope, user_of

# The most pages of an index, and the most revisions of one page of a history.
INDEX_SHOWN = 2000
REVISIONS_SHOWN = 50
# The most pages offered to complete a link.
COMPLETIONS = 8

_REVISION_COLUMNS = (
    WikiRevision.id,
    WikiRevision.revision_number,
    WikiRevision.title,
    WikiRevision.summary,
    WikiRevision.created_at,
    *USER_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class LastSave:
    """The current revision of a page, who saved it, and when."""

    revision_number: int
    by: UserSummary
    at: int


@lru_cache
def _same_slug(by_id: bool, has_allowlist: bool) -> Prepared:
    return Prepared(
        select(
            WikiPage.project_id,
            WikiPage.revision_number,
            WikiPage.updated_at,
            WikiPage.deleted_at,
            *USER_COLUMNS,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .where(
            (WikiPage.id if by_id else WikiPage.slug) == bindparam("reference"),
            loaders.seen(has_allowlist=has_allowlist),
        )
        .order_by(WikiPage.deleted_at.is_not(None))
    )


@operation(Access.READ)
def last_save(actor: Actor, reference: str, project_id: str | None) -> LastSave:
    """The last save of a page in exactly this scope; raises NotFound or Gone.

    Editors poll it, so it does not read the body.
    """
    identifier = as_uuid(reference)
    allowlist = loaders.allowlist_of(actor)
    rows = _same_slug(identifier is not None, bool(allowlist)).all(
        reference=identifier or reference, **allowlist
    )
    row = live_in_scope(rows, project_id, reference)
    return LastSave(row.revision_number, user_of(row), row.updated_at)


@operation(Access.READ)
def index(actor: Actor, project_id: str | None, *, orphans: bool = False) -> Sequence[AnyRow]:
    """The first ``INDEX_SHOWN`` live pages of a scope by title, with their last editors.

    ``orphans``: only pages to which no other page links.
    """
    statement = (
        select(
            WikiPage.id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.updated_at,
            WikiPage.revision_number,
            User.display_name,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .where(in_scope(project_id), WikiPage.deleted_at.is_(None), loaders.seen_by(actor))
        .order_by(func.lower(WikiPage.title), WikiPage.id)
        .limit(INDEX_SHOWN)
    )
    if orphans:
        source = aliased(WikiPage, name="source")
        linked = exists(
            select(WikiLink.id)
            .join(source, source.id == WikiLink.page_id)
            .where(
                WikiLink.target_slug == WikiPage.slug,
                source.id != WikiPage.id,
                source.deleted_at.is_(None),
                or_(source.project_id == WikiPage.project_id, WikiPage.project_id.is_(None)),
            )
        )
        statement = statement.where(~linked)
    return session.execute(statement).all()


@operation(Access.READ)
def history(
    actor: Actor, page: SeenPage, *, before: int | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The page's revisions without bodies, newest first, and whether there are older ones."""
    statement = (
        select(
            *_REVISION_COLUMNS,
            cast(func.length(WikiRevision.body), Integer).label("length"),
        )
        .join(User, User.id == WikiRevision.author_user_id)
        .where(WikiRevision.page_id == page.id)
        .order_by(WikiRevision.revision_number.desc())
        # One extra row gives the length before the last row shown.
        .limit(REVISIONS_SHOWN + 1)
    )
    if before is not None:
        statement = statement.where(WikiRevision.revision_number < before)
    rows = session.execute(statement).all()
    lengths = [row.length for row in rows[1:]] + [0]
    revisions = [
        {**_revision(row), "grown": row.length - earlier}
        for row, earlier in zip(rows, lengths, strict=True)
    ]
    return revisions[:REVISIONS_SHOWN], len(revisions) > REVISIONS_SHOWN


@operation(Access.READ)
def numbered(actor: Actor, page: SeenPage, *numbers: int) -> list[dict[str, Any]]:
    """The page's revisions of these numbers, in that order, with bodies; raises NotFound."""
    largest = max(numbers)
    if largest > page.revision_number:
        raise NotFound("revision", str(largest))
    rows = session.execute(
        select(*_REVISION_COLUMNS, WikiRevision.body)
        .join(User, User.id == WikiRevision.author_user_id)
        .where(WikiRevision.page_id == page.id, WikiRevision.revision_number.in_(numbers))
    )
    revisions = {row.revision_number: {**_revision(row), "body": row.body} for row in rows}
    missing = [number for number in numbers if number not in revisions]
    if missing:
        raise NotFound("revision", str(missing[0]))
    return [revisions[number] for number in numbers]


def _revision(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "revision_number": row.revision_number,
        "title": row.title,
        "summary": row.summary,
        "created_at": row.created_at,
        "author": user_of(row),
    }


_DELETED_BY = Prepared(
    select(*USER_COLUMNS)
    .join(AuditEvent, AuditEvent.actor_user_id == User.id)
    .where(
        AuditEvent.target_id == bindparam("page_id"),
        AuditEvent.event_type == "wiki.deleted",
        HAS_INDEXED_TARGET,
    )
    .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
    .limit(1)
)


@operation(Access.HUMAN)
def deleted_by(actor: Actor, page_id: str) -> UserSummary | None:
    """Who deleted a page last; None if it was the application."""
    row = _DELETED_BY.first(page_id=page_id)
    return user_of(row) if row else None


@operation(Access.READ)
def pages_like(actor: Actor, project_id: str | None, typed: str) -> list[AnyRow]:
    """Pages that a link being typed may mean, in the project and global, best first."""
    typed = typed.strip()
    slug = "-".join(typed.lower().split())
    scope: ColumnElement[bool] = WikiPage.project_id.is_(None)
    if project_id is not None:
        scope = or_(scope, WikiPage.project_id == project_id)
    statement = select(WikiPage.slug, WikiPage.title, WikiPage.project_id).where(
        scope, WikiPage.deleted_at.is_(None), loaders.seen_by(actor)
    )
    place = position_in_any_case(WikiPage.title, typed)
    starts = or_(WikiPage.slug.startswith(slug, autoescape=True), place == 1)
    if typed:
        statement = statement.where(
            or_(WikiPage.slug.contains(slug, autoescape=True), place > 0)
        ).order_by(starts.desc(), func.lower(WikiPage.title))
    else:
        statement = statement.order_by(WikiPage.updated_at.desc(), WikiPage.id)
    by_slug: dict[str, AnyRow] = {}
    # A project's page hides the global page with the same slug.
    for row in session.execute(statement.limit(2 * COMPLETIONS)):
        if row.slug not in by_slug or row.project_id is not None:
            by_slug[row.slug] = row
    return list(by_slug.values())[:COMPLETIONS]


def keys_of(project_ids: Iterable[str | None]) -> dict[str | None, str]:
    """The keys of these projects by id."""
    distinct = {project_id for project_id in project_ids if project_id is not None}
    if not distinct:
        return {}
    rows = session.execute(select(Project.id, Project.key).where(Project.id.in_(distinct)))
    return {row.id: row.key for row in rows}
