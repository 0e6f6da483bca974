"""Moving a ticket to another state or lane: by drag, by key, or by the plain form."""

from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.database.session import reading, session
from app.projects import states
from app.projects.models import WorkflowState
from app.tickets import board, board_moves, board_sidebar, loaders, page_queries
from app.tickets.board import Shape
from app.tickets.board_moves import CATEGORIES, Spot
from app.tickets.cards import GROUPINGS
from app.tickets.models import Ticket
from app.tickets.pages.blueprint import pages
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render


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

    Only what the board goes by is compared: its state, and in a lane what the lane stands for.
    """
    sent = request.form
    wanted = Spot(sent.get("state_id", ""), sent.get("lane", ""))
    if not is_htmx():
        form = Form(raw=sent.copy())
        if submit(
            form, lambda present: board_moves.carry(present, reference, to=wanted, seen=None)
        ):
            return go(safe_next(sent.get("back")))
        return _choose(reference, form, safe_next(sent.get("back")))
    grouping = grouping_of(sent)
    seen = None
    if "from_state_id" in sent:
        seen = Spot(sent["from_state_id"], sent.get("from_lane", ""))
    done = write(
        lambda present: board_moves.carry(
            present, reference, to=wanted, seen=seen, grouping=grouping
        )
    )
    if done.is_moved:
        return _moved(reference, wanted, done.before)
    return _refused(reference, wanted, done.before)


def grouping_of(sent: Any) -> str:
    """How the board that sent this is grouped."""
    return sent["group"] if sent.get("group") in GROUPINGS else ""


def shown_card(reference: str, *, fresh: bool = True) -> str:
    """A ticket's card as it is now, for the board that sent this request; needs a unit of work."""
    sent = request.form
    ticket = loaders.visible(actor(), reference)
    everywhere = bool(sent.get("everywhere"))
    shape = Shape(None if everywhere else ticket.project_id, grouping=grouping_of(sent))
    one = board.card(shape, ticket.id, board_sidebar.summaries(board_sidebar.all_users()))
    return render("tickets/_card.html", one=one, fresh=fresh)


def _moved(reference: str, wanted: Spot, before: Spot) -> Response:
    with reading():
        shown = shown_card(reference)
        name = _place_name(loaders.visible(actor(), reference), wanted.place)
    same_place = before.place == wanted.place
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=f"{reference} changed lanes" if same_place else f"{reference} moved to {name}",
        spot=None if wanted.fits(before) else before,
        # Undo is a move like any other: it asks where someone moved the card since.
        seen=wanted,
        action="Undo",
        sent=request.form,
    )
    return html(shown + toast)


def _place_name(ticket: Ticket, place: str) -> str:
    """What a column is called."""
    if place in CATEGORIES:
        return place.capitalize()
    state = session.get(WorkflowState, ticket.state_id) if ticket.state_id else None
    return state.name if state else ""


def _refused(reference: str, wanted: Spot, now: Spot) -> Response:
    """Someone else moved it meanwhile: the true card, who did it, and a way to insist."""
    with reading():
        shown = shown_card(reference)
        ticket = loaders.visible(actor(), reference)
        last = session.execute(
            select(User.display_name, AuditEvent.created_at)
            .join(User, User.id == AuditEvent.actor_user_id)
            .where(
                AuditEvent.ticket_id == ticket.id,
                AuditEvent.event_type.in_(
                    ["ticket.state_changed"]
                    if now.place != request.form["from_state_id"]
                    else ["ticket.updated", "ticket.assigned"]
                ),
            )
            .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
            .limit(1)
        ).first()
        place = _place_name(ticket, now.place)
    who = last.display_name if last else "Someone"
    moved = now.place != request.form["from_state_id"]
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=f"{who} moved {reference} to {place} meanwhile"
        if moved
        else f"{who} changed {reference} meanwhile",
        at=last.created_at if last else None,
        spot=wanted,
        action="Move anyway",
        kind="error",
        sent=request.form,
    )
    return html(shown + toast, 409)
