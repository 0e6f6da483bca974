"""Changing a card on the board: its state or lane, assignee, priority and labels."""

from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import reading, session
from app.projects import states
from app.projects.models import WorkflowState
from app.rest.fields import load
from app.tickets import board, board_moves, board_sidebar, loaders, page_queries, service
from app.tickets.board import Shape
from app.tickets.board_moves import BoardCell
from app.tickets.cards import GROUPINGS
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.models import Ticket
from app.tickets.pages.blueprint import may_be_assigned, pages
from app.tickets.read import labels_of
from app.tickets.schemas import TicketPatch
from app.tickets.ticket_labels import label_ids_of
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
    wanted = BoardCell(sent.get("state_id", ""), sent.get("lane", ""))
    if not is_htmx():
        form = Form(raw=sent.copy())
        if submit(
            form, lambda present: board_moves.move_card(present, reference, to=wanted, seen=None)
        ):
            return go(safe_next(sent.get("back")))
        return _choose(reference, form, safe_next(sent.get("back")))
    grouping = grouping_of(sent)
    seen = None
    if "from_state_id" in sent:
        seen = BoardCell(sent["from_state_id"], sent.get("from_lane", ""))
    done = write(
        lambda present: board_moves.move_card(
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


def _moved(reference: str, wanted: BoardCell, before: BoardCell) -> Response:
    with reading():
        shown = shown_card(reference)
        name = _column_name(loaders.visible(actor(), reference), wanted.place)
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


def _column_name(ticket: Ticket, place: str) -> str:
    """What a column is called."""
    if place in CATEGORIES:
        return place.capitalize()
    state = session.get(WorkflowState, ticket.state_id) if ticket.state_id else None
    return state.name if state else ""


def _refused(reference: str, wanted: BoardCell, now: BoardCell) -> Response:
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
        place = _column_name(ticket, now.place)
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


FIELDS = {
    "assignee": ("assignee_user_id", "Assignee"),
    "priority": ("priority", "Priority"),
    "labels": ("label_ids", "Labels"),
}


def _check(name: str) -> None:
    if name not in FIELDS:
        raise NotFound("route", request.path)


@pages.get("/tickets/<reference>/pick/<name>")
def choose(reference: str, name: str) -> Response:
    """Ask for another value."""
    _check(name)
    return _choose_value(reference, name, Form())


def _choose_value(reference: str, name: str, form: Form) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        users = [
            user_summary(row.id, row.type, row.username, row.display_name)
            for row in board_sidebar.all_users()
            if may_be_assigned(row, subject.project["id"])
        ]
    users.sort(key=lambda one: one["id"] != actor().id)
    ticket = subject.ticket
    carried = sorted(label["id"] for label in ticket["labels"])
    now = {
        "assignee": ticket["assignee_user_id"] or "",
        "priority": ticket["priority"],
        "labels": ",".join(carried),
    }
    back = f"/projects/{subject.project['key']}/board"
    return page(
        "tickets/pick.html",
        block="sheet",
        project=subject.project,
        ticket=ticket,
        name=name,
        label=FIELDS[name][1],
        users=users,
        labels=subject.labels,
        priorities=PRIORITIES,
        chosen=form.values("value", now[name].split(",")),
        seen=form.value("seen", now[name]),
        form=form,
        back=safe_next(form.value("back")) if form.value("back") else back,
        status=422 if form.errors else 200,
    )


@pages.post("/tickets/<reference>/pick/<name>")
def pick(reference: str, name: str) -> Response:
    """Set the value, unless it has changed since it was shown."""
    _check(name)
    form = Form(raw=request.form.copy(), shown=frozenset({FIELDS[name][0]}))
    before: list[str] = []
    overtaken: list[bool] = []

    def work(present: Actor) -> None:
        ticket = loaders.writable(present, reference)
        now = _value(ticket, name)
        before[:], overtaken[:] = [now], []
        if form.value("seen", now) not in (now, ",".join(_sent(present, form))):
            overtaken.append(True)
            return
        field, wanted = FIELDS[name][0], _sent(present, form)
        value: Any = wanted if name == "labels" else (wanted[0] if wanted else None)
        service.update_ticket(present, reference, **load(TicketPatch, {field: value}, "body"))

    submit(form, work)
    if not is_htmx():
        if overtaken:
            form.refuse("", "This changed meanwhile. Choose again.")
        return (
            _choose_value(reference, name, form)
            if form.errors
            else go(safe_next(form.value("back")))
        )
    if form.errors:
        return html(_toast(reference, next(iter(form.errors.values())), kind="error"), 422)
    with reading():
        shown = shown_card(reference)
        words = _words(loaders.visible(actor(), reference), name)
    if overtaken:
        text = f"{reference} changed meanwhile, and is left as it is now"
        return html(shown + _toast(reference, text, kind="error"), 409)
    undo = {"value": before[0].split(","), "name": name}
    return html(shown + _toast(reference, f"{reference}: {words}", undo=undo))


def _value(ticket: Ticket, name: str) -> str:
    """What the form shows as chosen."""
    if name == "labels":
        return ",".join(label_ids_of(ticket))
    return ticket.priority if name == "priority" else ticket.assignee_user_id or ""


def _sent(present: Actor, form: Form) -> list[str]:
    """The values that were sent; ``me`` is whoever sent them."""
    return sorted(present.id if value == "me" else value for value in form.values("value") if value)


def _words(ticket: Ticket, name: str) -> str:
    """What was done, for the toast; needs a unit of work."""
    if name == "priority":
        return f"{ticket.priority} priority"
    if name == "labels":
        found = [label["name"] for label in labels_of(ticket.id)]
        return f"labels {', '.join(found)}" if found else "no labels"
    user = board_sidebar.summaries(board_sidebar.all_users()).get(ticket.assignee_user_id or "")
    return f"assigned to {user['display_name']}" if user else "assigned to nobody"


def _toast(reference: str, text: str, *, kind: str = "", undo: Any = None) -> str:
    return render("tickets/_picked.html", reference=reference, text=text, kind=kind, undo=undo)
