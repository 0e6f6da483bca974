"""Resolving the slug or id of a wiki page in a scope: a project, or none (global).

One statement finds the page, its project, its last editor, and pages of the slug elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, String, bindparam, literal_column, select

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.core.etag import etag
from app.core.ids import as_uuid
from app.database.session import AnyRow, Prepared
from app.projects.loaders import SeenProject
from app.projects.models import Project
from app.wiki import loaders
from app.wiki.models import WikiPage

# The most pages of one slug that are read: a live one for each scope, and deleted ones.
PLACES = 50
USER_COLUMNS = (User.id.label("user_id"), User.type, User.username, User.display_name)


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page as its readers see it."""

    id: str
    project_id: str | None
    slug: str
    title: str
    body: str
    revision_number: int
    updated_at: int

    @property
    def etag(self) -> str:
        return etag(self.updated_at, self.id)


@dataclass(frozen=True, slots=True)
class ResolvedPage:
    """A page, its project (None: global), its last editor, and pages of its slug elsewhere."""

    project: SeenProject | None
    page: SeenPage
    editor: UserSummary
    elsewhere: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """What a deleted page leaves behind in its place."""

    id: str
    slug: str
    title: str
    deleted_at: int


@lru_cache
def _same_slug(by_id: bool, has_allowlist: bool) -> Prepared:
    """Pages of an id or slug: those of the requested scope first, live ones before deleted."""
    column = WikiPage.id if by_id else WikiPage.slug
    is_home = Project.key.is_not_distinct_from(bindparam("key", type_=String))
    return Prepared(
        select(
            WikiPage.id,
            WikiPage.project_id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.body,
            WikiPage.revision_number,
            WikiPage.updated_at,
            WikiPage.deleted_at,
            Project.key,
            Project.name,
            Project.description,
            Project.owner_user_id,
            Project.created_at.label("project_created_at"),
            Project.updated_at.label("project_updated_at"),
            Project.sign_off,
            Project.review_state_id,
            Project.bot_creation_limit,
            *USER_COLUMNS,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(column == bindparam("reference"), loaders.seen(has_allowlist=has_allowlist))
        .order_by(
            is_home.desc(),
            WikiPage.deleted_at.is_not(None),
            WikiPage.created_at.desc(),
            WikiPage.id.desc(),
        )
        .limit(literal_column(str(PLACES), Integer))
    )


@dataclass(frozen=True, slots=True)
class SlugMatches:
    """The pages of a slug or id, in any scope, that an actor can see."""

    reference: str
    rows: Sequence[AnyRow]

    def at(self, key: str | None) -> ResolvedPage | None:
        """The live page in the project of this key, or the global one.

        None does not reveal whether the project exists.
        """
        return next((self._resolved(row) for row in self._live() if row.key == key), None)

    def within(self, project_id: str | None) -> ResolvedPage:
        """The live page in exactly this scope; raises NotFound or Gone."""
        return self._resolved(live_in_scope(self.rows, project_id, self.reference))

    def deleted_last(self, project_id: str | None) -> DeletedPage | None:
        """Of the deleted pages in exactly this scope, the one deleted last."""
        deleted = [
            DeletedPage(row.id, row.slug, row.title, row.deleted_at)
            for row in self.rows
            if row.project_id == project_id and row.deleted_at is not None
        ]
        return max(deleted, key=lambda page: (page.deleted_at, page.id), default=None)

    def summaries(self) -> list[dict[str, Any]]:
        """All live pages of the slug, with the keys and names of their projects."""
        return [_summary(row) for row in self._live()]

    def _live(self) -> list[AnyRow]:
        return [row for row in self.rows if row.deleted_at is None]

    def _resolved(self, row: AnyRow) -> ResolvedPage:
        return ResolvedPage(
            _project(row),
            SeenPage(
                row.id,
                row.project_id,
                row.slug,
                row.title,
                row.body,
                row.revision_number,
                row.updated_at,
            ),
            user_of(row),
            [_summary(other) for other in self._live() if other.id != row.id],
        )


def live_in_scope(rows: Sequence[AnyRow], project_id: str | None, reference: str) -> AnyRow:
    """The first of the rows in this scope; raises NotFound or Gone."""
    row = next((row for row in rows if row.project_id == project_id), None)
    if row is None:
        raise NotFound("wiki_page", reference)
    if row.deleted_at is not None:
        raise Gone("wiki_page", reference)
    return row


def user_of(row: AnyRow) -> UserSummary:
    """The user of a row with ``USER_COLUMNS``."""
    return user_summary(row.user_id, row.type, row.username, row.display_name)


def _project(row: AnyRow) -> SeenProject | None:
    if row.project_id is None:
        return None
    return SeenProject(
        row.project_id,
        row.key,
        row.name,
        row.description,
        row.owner_user_id,
        row.project_created_at,
        row.project_updated_at,
        sign_off=row.sign_off,
        review_state_id=row.review_state_id,
        bot_creation_limit=row.bot_creation_limit,
    )


def _summary(row: AnyRow) -> dict[str, Any]:
    return {"id": row.id, "slug": row.slug, "title": row.title, "key": row.key, "name": row.name}


@operation(Access.READ)
def resolve_slug(actor: Actor, reference: str, key: str | None) -> SlugMatches:
    """The pages of a slug in all scopes, or the page of an id.

    At most ``PLACES`` are read; those in the project of this key (None: global) come first.
    """
    allowlist = loaders.allowlist_of(actor)
    identifier = as_uuid(reference)
    statement = _same_slug(identifier is not None, bool(allowlist))
    rows = statement.all(reference=identifier or reference, key=key, **allowlist)
    return SlugMatches(reference, rows)
