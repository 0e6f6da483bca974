"""Reading one page."""

from collections import OrderedDict
from typing import Any

from flask import Response
from sqlalchemy import select

from app.audit.models import AuditEvent
from app.audit.service import record_separately
from app.core.actor import Actor
from app.core.errors import Gone, NotFound
from app.database.session import reading, session
from app.markdown import Broken, Html, Profile, Resolved, Targets, linked, render
from app.web.guard import actor
from app.web.page_cache import do_not_cache
from app.web.render import cached_page
from app.web.wiki_addresses import address_of, title_of
from app.wiki import links, loaders, messages, page_queries
from app.wiki.link_targets import Known, known, targets_of
from app.wiki.pages.blueprint import (
    WikiScope,
    both,
    resolved_or_error,
    scope_of,
    scope_page,
    similar_pages,
)
from app.wiki.slug_resolution import ResolvedPage, SeenPage, SlugMatches, resolve_slug

BACKLINKS_SHOWN = 100
OUTGOING_SHOWN = 100
MAX_CONTENTS_LEVEL = 3
FAILED = "wiki.render_failed"
# The most recorded failures that this process remembers; reading again then runs no query.
MAX_REMEMBERED_FAILURES = 1000
_recorded: OrderedDict[tuple[str, int], None] = OrderedDict()


@both("/<reference>")
def show(reference: str, key: str | None = None) -> Response:
    """Show a page, or offer to create it."""
    with reading():
        matches = resolve_slug(actor(), reference, key)
        direct = matches.at(key)
        scope = WikiScope(direct.project) if direct else scope_of(key)
        resolved = direct or resolved_or_error(scope, matches)
        if not isinstance(resolved, ResolvedPage):
            return _missing(scope, matches, resolved)
        page = resolved.page
        link_targets = known(actor(), scope.id, linked(page.body))
        backlinks = links.links_to(actor(), page.slug, page.project_id, limit=BACKLINKS_SHOWN).data
        sentences = links.around((link["id"] for link in backlinks), page.slug)
        # Only pages of the same project can link to a project's page.
        foreign = () if scope.project else (link["project_id"] for link in backlinks)
        keys = {scope.id: scope.key} | page_queries.keys_of(foreign)
    linking = [
        {
            "title": link["title"],
            "address": address_of(keys.get(link["project_id"]), link["slug"], link["id"]),
            "project": keys.get(link["project_id"]) if scope.project is None else None,
            "said": sentences.get(link["id"]),
        }
        for link in backlinks
    ]
    parts: dict[str, Any] = {
        "resolved": resolved,
        "link_targets": link_targets,
        "backlinks": linking,
    }
    return cached_page("wiki/show.html", parts, lambda: _context(**parts))


def _context(
    resolved: ResolvedPage, link_targets: list[Known], backlinks: list[dict[str, Any]]
) -> dict[str, Any]:
    """The context of the page; a failed rendering is recorded, and is not cached."""
    scope, page = WikiScope(resolved.project), resolved.page
    targets = targets_of(link_targets, scope.key, linked(page.body))
    shown = render(page.body, Profile.FULL, lambda _links: targets, anchor_prefix="h-")
    if shown.failed:
        _record_failure(actor(), page, shown)
        do_not_cache()
    return {
        "project": scope.project,
        "scope": scope,
        "page": page,
        "has_text": page.body.strip() != "",
        "html": shown.html,
        "is_source": shown.is_source,
        "contents": [heading for heading in shown.headings if heading.level <= MAX_CONTENTS_LEVEL],
        "editor": resolved.editor,
        "backlinks": backlinks,
        "outgoing": _outgoing(shown, targets),
        "outgoing_shown": OUTGOING_SHOWN,
        "elsewhere": [_elsewhere(other) for other in resolved.elsewhere],
    }


def _outgoing(shown: Html, targets: Targets) -> list[dict[str, Any]]:
    """The links of a text: to pages, including missing ones, and then to tickets."""
    pages = [(slug, targets.pages.get(slug)) for slug in shown.links.slugs]
    tickets = [(number, targets.tickets.get(number)) for number in shown.links.tickets]
    return [
        {
            "address": target.href,
            "title": target.title if isinstance(target, Resolved) else name,
            "ticket": name if is_ticket else "",
            "is_done": isinstance(target, Resolved) and target.is_done,
            "is_broken": isinstance(target, Broken),
        }
        for is_ticket, named in ((False, pages), (True, tickets))
        for name, target in named
        # Text such as UTF-8 only looks like a ticket.
        if target is not None and not (is_ticket and isinstance(target, Broken))
    ]


def _record_failure(actor: Actor, page: SeenPage, shown: Html) -> None:
    """Record once that a revision cannot be rendered; runs outside of any unit of work."""
    revision = (page.id, page.revision_number)
    if revision in _recorded:
        return
    with reading():
        payloads = session.scalars(
            select(AuditEvent.payload).where(
                AuditEvent.event_type == FAILED, AuditEvent.target_id == page.id
            )
        ).all()
    if all(payload.get("revision_number") != page.revision_number for payload in payloads):
        record_separately(
            actor,
            FAILED,
            loaders.target(page),
            revision_number=page.revision_number,
            error=shown.error,
        )
    _recorded[revision] = None
    while len(_recorded) > MAX_REMEMBERED_FAILURES:
        _recorded.popitem(last=False)


def _elsewhere(other: dict[str, str]) -> dict[str, str]:
    return {
        "title": other["title"],
        "address": address_of(other["key"], other["slug"], other["id"]),
        "scope": other["name"] or messages.WORKSPACE_WIKI,
    }


def _missing(scope: WikiScope, matches: SlugMatches, error: NotFound | Gone) -> Response:
    slug = matches.reference
    deleted = matches.deleted_last(scope.id) if isinstance(error, Gone) else None
    return scope_page(
        "wiki/missing.html",
        scope,
        slug=slug,
        title=deleted.title if deleted else title_of(slug),
        deleted=deleted,
        by=page_queries.deleted_by(actor(), deleted.id) if deleted else None,
        elsewhere=[_elsewhere(other) for other in matches.summaries()],
        near=similar_pages(scope, slug),
        status=error.status,
    )
