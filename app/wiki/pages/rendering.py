"""The text of a wiki page as people see it."""

from collections import OrderedDict

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.audit.service import record_separately
from app.core.actor import Actor
from app.core.db import reading, session
from app.markdown import Html
from app.web.texts import laid_out
from app.wiki import loaders
from app.wiki.page_queries import SeenPage
from app.wiki.pages.blueprint import Scope

FAILED = "wiki.render_failed"
# Failures this process has recorded or found recorded, so that reading again asks nothing.
REMEMBERED = 1000
_known: OrderedDict[tuple[str, int], None] = OrderedDict()


def rendered(scope: Scope, body: str) -> Html:
    """A text of this scope laid out, in a unit of work."""
    return laid_out({"h": body}, scope.id, scope.key)["h"]


def audit_failure(actor: Actor, page: SeenPage, shown: Html) -> None:
    """Record that a revision could not be laid out, once; outside of any unit of work."""
    revision = (page.id, page.revision_number)
    if not shown.failed or revision in _known:
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
