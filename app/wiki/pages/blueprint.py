"""The blueprint of these pages, and the two scopes that all of them work in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response

from app.core.errors import Gone, NotFound
from app.projects.loaders import SeenProject, visible_by_key
from app.web.guard import actor
from app.web.wiki_addresses import address_of
from app.wiki import did_you_mean, slugs
from app.wiki.slug_resolution import ResolvedPage, SeenPage, SlugMatches, resolve_slug

pages = Blueprint("wiki_pages", __name__)

View = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class WikiScope:
    """The global wiki, or that of a project."""

    project: SeenProject | None

    @property
    def id(self) -> str | None:
        """The project's id."""
        return self.project.id if self.project else None

    @property
    def key(self) -> str | None:
        """The project's key."""
        return self.project.key if self.project else None

    @property
    def base(self) -> str:
        """The address of the index."""
        return f"/projects/{self.project.key}/wiki" if self.project else "/wiki"

    @property
    def name(self) -> str:
        """What people call it."""
        return self.project.name if self.project else "Workspace"

    def address(self, page: Any) -> str:
        """Where a page of this scope is read."""
        return address_of(self.key, page.slug, page.id)


def both(rule: str, *methods: str) -> Callable[[View], View]:
    """Serve a view below /wiki and below each project's wiki; ``key`` is None in the first."""

    def add(view: View) -> View:
        for base in ("/wiki", "/projects/<key>/wiki"):
            pages.add_url_rule(base + rule, view_func=view, methods=list(methods) or ["GET"])
        return view

    return add


def scope_of(key: str | None) -> WikiScope:
    """The scope of an address, in a unit of work; raises NotFound or Gone."""
    return WikiScope(visible_by_key(actor(), key) if key else None)


def page_of(scope: WikiScope, reference: str) -> SeenPage:
    """The page of an address, in a unit of work; raises NotFound or Gone."""
    return resolve_slug(actor(), reference, scope.key).within(scope.id).page


def found_or_missing(scope: WikiScope, named: SlugMatches) -> ResolvedPage | NotFound | Gone:
    """The page, or why there is none, where the reference could be a page's slug."""
    try:
        return named.within(scope.id)
    except (NotFound, Gone) as error:
        if not slugs.is_slug(named.reference):
            raise
        return error


def near(scope: WikiScope, slug: str) -> list[dict[str, str]]:
    """The pages that may have been meant by a slug that no page of the scope has."""
    found = did_you_mean.suggestions(actor(), [(scope.id, slug)])[scope.id, slug]
    return [
        {"slug": one, "address": address_of(scope.key if home else None, one)}
        for home, one in found
    ]
