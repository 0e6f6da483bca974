"""Moving a ticket to another state: by drag, by key, or by the plain form."""

from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.db import reading, session
from app.projects import states
from app.tickets import board, loaders, page_queries, service
from app.tickets.pages.blueprint import around, pages
from app.tickets.pages.board import label_summaries
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, oob, page, render


@pages.get("/tickets/<reference>/move")
def choose_state(reference: str) -> Response:
    """Ask where the ticket is to go."""
    return _choose(reference, Form(), safe_next(request.args.get("back")))


def _choose(reference: str, form: Form, back: str) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        ordered = states.ordered(subject.project["id"])
    return page(
        "tickets/move.html",
        block="sheet",
        project=subject.project,
        ticket=subject.ticket,
        states=ordered,
        form=form,
        back=back if back != "/" else f"/projects/{subject.project['key']}/board",
        status=422 if form.errors else 200,
    )


@pages.post("/tickets/<reference>/move")
def move(reference: str) -> Response:
    """Move the ticket. The board says where it saw it: if it is elsewhere by now, 409.

    Only the state is compared: a label that someone changed meanwhile does not refuse a move.
    """
    wanted = request.form.get("state_id", "")
    seen = request.form.get("from_state_id")
    if not is_htmx():
        form = Form(raw=request.form.copy())
        if submit(form, lambda present: _transition(present, reference, wanted, None)):
            return go(safe_next(request.form.get("back")))
        return _choose(reference, form, safe_next(request.form.get("back")))
    before = write(lambda present: _transition(present, reference, wanted, seen))
    moved = seen is None or before in (seen, wanted)
    return _moved(reference, wanted, before) if moved else _refused(reference, wanted)


def _transition(present: Actor, reference: str, wanted: str, seen: str | None) -> str | None:
    """Move the ticket unless it left the state in which it was seen; the state it was in."""
    before = loaders.writable(present, reference).state_id
    if seen is None or before == seen:
        service.transition_ticket(present, reference, state_id=wanted)
    return before


def _card(reference: str) -> str:
    """The card as it is now, with the state it belongs to."""
    ticket = loaders.visible(actor(), reference)
    known, _ = around(label_summaries(ticket.project_id))
    return render("tickets/_card.html", one=board.card(ticket.id, known), placed=True, fresh=True)


def _moved(reference: str, wanted: str, before: str | None) -> Response:
    with reading():
        shown = _card(reference)
        name = states.named_in_body(loaders.visible(actor(), reference).project_id, wanted).name
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=f"{reference} moved to {name}",
        state_id=before if before != wanted else None,
        action="Undo",
    )
    return html(shown + oob(toast, "#toasts"))


def _refused(reference: str, wanted: str) -> Response:
    """Someone else moved it meanwhile: the true card, who did it, and a way to insist."""
    with reading():
        shown = _card(reference)
        ticket = loaders.visible(actor(), reference)
        last = session.execute(
            select(User.display_name, AuditEvent.payload)
            .join(User, User.id == AuditEvent.actor_user_id)
            .where(
                AuditEvent.ticket_id == ticket.id,
                AuditEvent.event_type == "ticket.state_changed",
            )
            .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
            .limit(1)
        ).first()
    who, place = (
        (last.display_name, last.payload["to_state_name"]) if last else ("Someone", "another state")
    )
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=f"{who} moved {reference} to {place} meanwhile",
        state_id=wanted,
        action="Move anyway",
        kind="error",
    )
    return html(shown + oob(toast, "#toasts"), 409)
