"""What one event changed in a ticket's description, word by word."""

from flask import Response

from app.audit.models import AuditEvent
from app.core.errors import NotFound
from app.database.session import by_id, reading
from app.text.diff import compare
from app.tickets import page_queries
from app.tickets.pages.blueprint import pages
from app.web.guard import actor
from app.web.render import page


@pages.get("/tickets/<reference>/changes/<event_id>")
def show_change(reference: str, event_id: str) -> Response:
    """The diff of the texts before and after; raises NotFound for an event without one."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        event = by_id(AuditEvent, event_id)
    change = event.payload.get("changes", {}).get("body") if event else None
    if event is None or change is None or event.ticket_id != subject.ticket["id"]:
        raise NotFound("audit_event", event_id)
    return page(
        "tickets/change.html",
        block="diff",
        ticket=subject.ticket,
        project=subject.project,
        event=event,
        diff=compare(change["from"], change["to"]),
    )
