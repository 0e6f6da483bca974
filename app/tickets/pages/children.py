"""Adding what lies below a ticket, without leaving its page."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import reading
from app.tickets import creating, loaders, page_queries
from app.tickets.models import TicketType
from app.tickets.pages import show
from app.tickets.pages.blueprint import pages
from app.web.forms import Form, create
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page

BELOW = {TicketType.EPIC: TicketType.STORY, TicketType.STORY: TicketType.SUBTASK}


@pages.post("/tickets/<reference>/children")
def add_child(reference: str) -> Response:
    """Create a story below an epic, or a subtask below a story, from its title."""
    form = Form(raw=request.form.copy(), shown=frozenset({"title"}))

    def work(present: Actor) -> str:
        parent = loaders.visible(present, reference)
        kind = BELOW.get(TicketType(parent.type))
        if kind is None:
            raise InvalidField("title", "wrong_type", "A subtask has nothing below it.")
        made = creating.create_ticket(
            present,
            parent.project_id,
            title=form.value("title"),
            type=kind.value,
            parent_ticket_id=parent.id,
        )
        return made.display_id

    made = create(form, work)
    if not is_htmx() and made:
        return go(f"/tickets/{reference}#children-title")
    with reading():
        subject = page_queries.subject(actor(), reference)
        context: dict[str, Any] = {
            **show.below(page_queries.children(subject.ticket["id"])),
            "child_form": None if made else form,
        }
    if not is_htmx():
        return page(
            "tickets/child_new.html",
            ticket=subject.ticket,
            project=subject.project,
            status=422,
            **context,
        )
    shown = show.fragment("tickets/_children.html", subject, **context)
    return html(shown, 200 if made else 422)
