"""Reading one page."""

from typing import Any

from flask import Response

from app.core.errors import Gone, NotFound
from app.database.session import reading
from app.web.guard import actor
from app.web.page_cache import do_not_keep
from app.web.render import cached_page, page
from app.web.wiki_addresses import address_of, title_of
from app.wiki import links, page_queries
from app.wiki.link_targets import Known
from app.wiki.pages import rendering
from app.wiki.pages.blueprint import (
    WikiScope,
    both,
    found_or_missing,
    near,
    scope_of,
)
from app.wiki.slug_resolution import ResolvedPage, SlugMatches, resolve_slug

BACKLINKS_SHOWN = 100
OUTGOING_SHOWN = 100
# The deepest headings in the table of contents.
CONTENTS = 3


@both("/<reference>")
def show(reference: str, key: str | None = None) -> Response:
    """Show a page; where there is none, say so and offer to write it."""
    with reading():
        named = resolve_slug(actor(), reference, key)
        known = named.at(key)
        scope = WikiScope(known.project) if known else scope_of(key)
        found = known or found_or_missing(scope, named)
        if not isinstance(found, ResolvedPage):
            return _missing(scope, named, found)
        one = found.page
        there = rendering.known_of(scope, one.body)
        backlinks = links.links_to(actor(), one.slug, one.project_id, limit=BACKLINKS_SHOWN).data
        said = links.around((link["id"] for link in backlinks), one.slug)
        # A project's page is linked to by its own project alone.
        foreign = () if scope.project else (link["project_id"] for link in backlinks)
        origins = {scope.id: scope.key} | page_queries.keys_of(foreign)
    linking = [
        {
            "title": link["title"],
            "address": address_of(origins.get(link["project_id"]), link["slug"], link["id"]),
            "project": origins.get(link["project_id"]) if scope.project is None else None,
            "said": said.get(link["id"]),
        }
        for link in backlinks
    ]
    made_of: dict[str, Any] = {"found": found, "there": there, "backlinks": linking}
    return cached_page("wiki/show.html", made_of, lambda: _context(**made_of))


def _context(
    found: ResolvedPage, there: list[Known], backlinks: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the page shows; a text that could not be laid out is recorded, and tried again."""
    scope, one = WikiScope(found.project), found.page
    targets = rendering.targets_in(scope, one.body, there)
    shown = rendering.shown_with(one.body, targets)
    if shown.failed:
        rendering.audit_failure(actor(), one, shown)
        do_not_keep()
    return {
        "project": scope.project,
        "scope": scope,
        "page": one,
        "has_text": one.body.strip() != "",
        "html": shown.html,
        "is_source": shown.is_source,
        "contents": [one for one in shown.headings if one.level <= CONTENTS],
        "editor": found.editor,
        "backlinks": backlinks,
        "outgoing": rendering.outgoing(shown, targets),
        "outgoing_shown": OUTGOING_SHOWN,
        "elsewhere": [_elsewhere(other) for other in found.elsewhere],
    }


def _elsewhere(other: dict[str, str]) -> dict[str, str]:
    return {
        "title": other["title"],
        "address": address_of(other["key"], other["slug"], other["id"]),
        "scope": other["name"] or "the workspace's wiki",
    }


def _missing(scope: WikiScope, named: SlugMatches, error: NotFound | Gone) -> Response:
    slug = named.reference
    return page(
        "wiki/missing.html",
        project=scope.project,
        scope=scope,
        slug=slug,
        title=title_of(slug),
        deleted=isinstance(error, Gone),
        elsewhere=[_elsewhere(other) for other in named.places()],
        near=near(scope, slug),
        status=error.status,
    )
