"""The text of a wiki page as people see it."""

from collections import OrderedDict
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.audit.service import record_separately
from app.core.actor import Actor
from app.database.session import reading, session
from app.markdown import Broken, Html, Profile, Resolved, Targets, linked, render
from app.web.guard import actor as present
from app.web.texts import laid_out
from app.wiki import loaders
from app.wiki.link_targets import Known, known, targets_of
from app.wiki.pages.blueprint import WikiScope
from app.wiki.slug_resolution import SeenPage

FAILED = "wiki.render_failed"
# Failures this process has recorded or found recorded, so that reading again asks nothing.
REMEMBERED = 1000
_known: OrderedDict[tuple[str, int], None] = OrderedDict()


def rendered(scope: WikiScope, body: str) -> Html:
    """A text of this scope laid out, in a unit of work."""
    return laid_out({"h": body}, scope.id, scope.key)["h"]


def known_of(scope: WikiScope, body: str) -> list[Known]:
    """What is there of what a text of this scope names, in a unit of work."""
    return known(present(), scope.id, linked(body))


def targets_in(scope: WikiScope, body: str, there: list[Known]) -> Targets:
    """What the links of a text of this scope lead to, where this is there."""
    return targets_of(there, scope.key, linked(body))


def shown_with(body: str, found: Targets) -> Html:
    """A text laid out, whose links lead there."""
    return render(body, Profile.FULL, lambda _links: found, anchor_prefix="h-")


def outgoing(shown: Html, found: Targets) -> list[dict[str, Any]]:
    """Where the links of a text lead: to pages, those still to be written too, then to tickets."""
    pages = [(slug, found.pages.get(slug)) for slug in shown.links.slugs]
    tickets = [(number, found.tickets.get(number)) for number in shown.links.tickets]
    return [
        {
            "address": one.href,
            "title": one.title if isinstance(one, Resolved) else name,
            "ticket": name if is_ticket else "",
            "is_done": isinstance(one, Resolved) and one.is_done,
            "is_broken": isinstance(one, Broken),
        }
        for is_ticket, rows in ((False, pages), (True, tickets))
        for name, one in rows
        # What only looks like the number of a ticket (UTF-8) is none.
        if one is not None and not (is_ticket and isinstance(one, Broken))
    ]


def audit_failure(actor: Actor, page: SeenPage, shown: Html) -> None:
    """Record that a revision could not be laid out, once; outside of any unit of work."""
    revision = (page.id, page.revision_number)
    if revision in _known:
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
    _known[revision] = None
    while len(_known) > REMEMBERED:
        _known.popitem(last=False)
