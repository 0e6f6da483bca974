"""The blueprint of the wiki's HTML pages and the scope (global or a project) that each works in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response

from app.core.errors import Gone, NotFound
from app.markdown import Html
from app.projects.loaders import SeenProject, visible_by_key
from app.web.guard import actor
from app.web.render import page
from app.web.texts import laid_out
from app.web.wiki_addresses import address_of
from app.wiki import did_you_mean, messages, slugs
from app.wiki.slug_resolution import ResolvedPage, SeenPage, SlugMatches, resolve_slug

pages = Blueprint("wiki_pages", __name__)

View = Callable[..., Response]


@dataclass(frozen=True, slots=True)
class WikiScope:
    """The wiki of a project, or the global wiki (None)."""

    project: SeenProject | None

    @property
    def id(self) -> str | None:
        return self.project.id if self.project else None

    @property
    def key(self) -> str | None:
        return self.project.key if self.project else None

    @property
    def base(self) -> str:
        """The address of the index."""
        return f"/projects/{self.project.key}/wiki" if self.project else "/wiki"

    @property
    def name(self) -> str:
        return self.project.name if self.project else messages.WORKSPACE

    def address(self, page: Any) -> str:
        return address_of(self.key, page.slug, page.id)


def both(rule: str, *methods: str) -> Callable[[View], View]:
    """Serve a view below /wiki (``key`` is None) and below each project's wiki."""

    def add(view: View) -> View:
        for base in ("/wiki", "/projects/<key>/wiki"):
            pages.add_url_rule(base + rule, view_func=view, methods=list(methods) or ["GET"])
        return view

    return add


def scope_page(template: str, scope: WikiScope, **context: Any) -> Response:
    """A page inside a scope; for ``block`` and ``status`` see ``page``."""
    return page(template, project=scope.project, scope=scope, **context)


# The functions below run in a unit of work.


def scope_of(key: str | None) -> WikiScope:
    """The scope of an address; raises NotFound or Gone."""
    return WikiScope(visible_by_key(actor(), key) if key else None)


def page_of(scope: WikiScope, reference: str) -> SeenPage:
    """The page of an address; raises NotFound or Gone."""
    return resolve_slug(actor(), reference, scope.key).within(scope.id).page


def scope_and_page(key: str | None, reference: str) -> tuple[WikiScope, SeenPage]:
    """The scope and the page of an address; raises NotFound or Gone."""
    scope = scope_of(key)
    return scope, page_of(scope, reference)


def resolved_or_error(scope: WikiScope, matches: SlugMatches) -> ResolvedPage | NotFound | Gone:
    """The page, or the error if there is none; raises it if no page can have the reference."""
    try:
        return matches.within(scope.id)
    except (NotFound, Gone) as error:
        if not slugs.is_slug(matches.reference):
            raise
        return error


def similar_pages(scope: WikiScope, slug: str) -> list[dict[str, str]]:
    """Suggestions for a slug that no page of the scope has."""
    suggestions = did_you_mean.suggestions(actor(), [(scope.id, slug)])[scope.id, slug]
    return [
        {"slug": close, "address": address_of(scope.key if project_id else None, close)}
        for project_id, close in suggestions
    ]


def rendered(scope: WikiScope, body: str) -> Html:
    """A text of this scope as HTML."""
    return laid_out({"h": body}, scope.id, scope.key)["h"]
