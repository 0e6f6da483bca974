"""Changing a card on the board: its cell, assignee, priority and labels."""

from collections.abc import Mapping
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.database.session import reading, session
from app.projects.models import WorkflowState
from app.tickets import board, board_moves, board_sidebar, loaders, page_queries
from app.tickets.board import Shape
from app.tickets.board_moves import BoardCell, MovedCard, Neighbor
from app.tickets.cards import GROUPINGS, BoardOrder
from app.tickets.fields import BY_PAGE_NAME, Field
from app.tickets.filters import CATEGORIES
from app.tickets.models import Ticket
from app.tickets.pages import messages, show
from app.tickets.pages.blueprint import FIELD_LABELS, open_below_text, pages, ticket_page
from app.tickets.pages.fields import (
    FieldBeforeChange,
    change_field,
    options_of,
    submit_field,
    suggested_days,
    value_of,
)
from app.web.filters import day
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, render


@pages.get("/tickets/<reference>/move")
def choose_state(reference: str) -> Response:
    return _choose(reference, Form(), safe_next(request.args.get("back")))


def _choose(reference: str, form: Form, back: str) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        options = options_of(subject, "state")
        below = show.below(page_queries.children(subject.ticket["id"]))
    return ticket_page(
        "tickets/move.html",
        subject,
        open_children=len(below["children"]) - below["children_done"],
        options=options,
        form=form,
        back=back if back != "/" else f"/projects/{subject.project['key']}/board",
        status=422 if form.errors else 200,
    )


@pages.post("/tickets/<reference>/move")
def move(reference: str) -> Response:
    """Move the ticket; 409 if it has left the cell in which the board showed it."""
    sent = request.form
    target = BoardCell(sent.get("state_id", ""), sent.get("swimlane", ""))
    if not is_htmx():
        form = Form(raw=sent.copy())
        back = safe_next(sent.get("back"))

        def work(person: Actor) -> MovedCard:
            return board_moves.move_card(person, reference, to=target, seen=None, beside=_beside())

        if submit(form, work):
            return go(back)
        return _choose(reference, form, back)
    grouping = _grouping()
    if grouping and "swimlane" not in sent:
        # Scripts of an earlier version name it differently. Only the column would change.
        raise InvalidField("swimlane", "required", messages.RELOAD_BOARD)
    seen = None
    if "from_state_id" in sent:
        seen = BoardCell(sent["from_state_id"], sent.get("from_swimlane", ""))
    result = write(
        lambda person: board_moves.move_card(
            person, reference, to=target, seen=seen, grouping=grouping, beside=_beside()
        )
    )
    if result.is_moved:
        return _moved(reference, target, result)
    return _refused(reference, target, result.before)


def _beside() -> Neighbor:
    """The neighbor that the form names; ``end`` means the top or the bottom."""
    sent = request.form
    return {
        name: None if sent[name] == "end" else sent[name]
        for name in ("rank_after", "rank_before")
        if sent.get(name)
    }


def _grouping() -> str:
    grouping = request.form.get("group", "")
    return grouping if grouping in GROUPINGS else ""


def shown_card(reference: str) -> str:
    """The current card of a ticket, for the board that sent this request; needs a unit of work."""
    ticket = loaders.visible(actor(), reference)
    project_id = None if request.form.get("everywhere") else ticket.project_id
    shape = Shape(project_id, grouping=_grouping(), order=BoardOrder.of(request.form))
    card = board.card(shape, ticket.id, board_sidebar.summaries(board_sidebar.all_users()))
    return render("tickets/_card.html", one=card, fresh=True)


def _moved(reference: str, target: BoardCell, result: MovedCard) -> Response:
    before = result.before
    with reading():
        card = shown_card(reference)
        ticket = loaders.visible(actor(), reference)
        name = _column_name(ticket, target.place)
        below = "" if before.place == target.place else open_below_text([ticket.id])
    text = messages.moved_to(reference, name)
    if below:
        text = messages.moved_with_open(reference, name, below)
    if before.place == target.place:
        text = (
            messages.moved(reference)
            if target.fits(before)
            else messages.changed_swimlanes(reference)
        )
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=text,
        spot=before if result.back or not target.fits(before) else None,
        beside={name: neighbor or "end" for name, neighbor in result.back.items()},
        # Undo is an ordinary move, which is refused if someone moved the card afterwards.
        seen=target,
        action=messages.UNDO,
        sent=request.form,
    )
    return html(card + toast)


def _column_name(ticket: Ticket, place: str) -> str:
    if place in CATEGORIES:
        return place.capitalize()
    state = session.get(WorkflowState, ticket.state_id) if ticket.state_id else None
    return state.name if state else ""


def _refused(reference: str, target: BoardCell, current: BoardCell) -> Response:
    """The response to a conflict: the current card, who changed it, and a button to move anyway."""
    is_moved = current.place != request.form["from_state_id"]
    types = ["ticket.state_changed"] if is_moved else ["ticket.updated", "ticket.assigned"]
    with reading():
        card = shown_card(reference)
        ticket = loaders.visible(actor(), reference)
        last = session.execute(
            select(User.display_name, AuditEvent.created_at)
            .join(User, User.id == AuditEvent.actor_user_id)
            .where(AuditEvent.ticket_id == ticket.id, AuditEvent.event_type.in_(types))
            .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
            .limit(1)
        ).first()
        name = _column_name(ticket, current.place)
    who = last.display_name if last else messages.SOMEONE
    toast = render(
        "tickets/_moved.html",
        reference=reference,
        text=messages.has_moved(who, reference, name)
        if is_moved
        else messages.has_changed(who, reference),
        at=last.created_at if last else None,
        spot=target,
        action=messages.MOVE_ANYWAY,
        kind="error",
        sent=request.form,
    )
    return html(card + toast, 409)


PICKED = {
    part: BY_PAGE_NAME[part] for part in ("assignee", "priority", "labels", "due_date", "parent")
}


def _field(name: str) -> Field:
    if name not in PICKED:
        raise NotFound("route", request.path)
    return PICKED[name]


@pages.get("/tickets/<reference>/pick/<name>")
def choose(reference: str, name: str) -> Response:
    return _choose_value(reference, _field(name), Form())


def _choose_value(reference: str, field: Field, form: Form) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        options = options_of(subject, field.page_name)
    current = value_of(subject.ticket, field.page_name)
    back = f"/projects/{subject.project['key']}/board"
    return ticket_page(
        "tickets/pick.html",
        subject,
        name=field.page_name,
        field_labels=FIELD_LABELS,
        options=options,
        days=suggested_days(),
        value=current,
        chosen=form.values("value", current.split(",")),
        seen=form.value("seen", current),
        form=form,
        back=safe_next(form.value("back")) if form.value("back") else back,
        status=422 if form.errors else 200,
    )


@pages.post("/tickets/<reference>/pick/<name>")
def pick(reference: str, name: str) -> Response:
    """Set the value, unless it differs from the value that the form showed."""
    field = _field(name)
    form = Form(raw=request.form.copy(), shown=frozenset({"value"}))
    if form.value("value") == "me":
        form.raw["value"] = actor().id
    before: list[FieldBeforeChange] = []

    def work(person: Actor) -> None:
        before[:] = [change_field(person, reference, name, form)]

    submit_field(form, work)
    is_stale = bool(before) and before[0].is_stale
    if not is_htmx():
        if is_stale:
            form.refuse("", messages.SELECT_AGAIN)
        if form.errors:
            return _choose_value(reference, field, form)
        return go(safe_next(form.value("back")))
    if form.errors:
        return html(_toast(reference, next(iter(form.errors.values())), kind="error"), 422)
    with reading():
        card = shown_card(reference)
        words = _words(page_queries.subject(actor(), reference).ticket, name)
    if is_stale:
        text = messages.overtaken_by_someone(reference)
        return html(card + _toast(reference, text, kind="error"), 409)
    undo = {"value": before[0].value.split(","), "name": name}
    return html(card + _toast(reference, messages.now_has(reference, words), undo=undo))


def _words(ticket: Mapping[str, Any], name: str) -> str:
    if name == "priority":
        return messages.has_priority(ticket["priority"])
    if name == "labels":
        names = [label["name"] for label in ticket["labels"]]
        return messages.has_labels(", ".join(names)) if names else messages.HAS_NO_LABELS
    if name == "due_date":
        return (
            messages.has_due_date(day(ticket["due_date"]))
            if ticket["due_date"]
            else messages.HAS_NO_DUE_DATE
        )
    if name == "parent":
        return (
            messages.has_parent(ticket["parent"]["display_id"])
            if ticket["parent"]
            else messages.HAS_NO_PARENT
        )
    user = ticket["assignee"]
    return messages.has_assignee(user["display_name"]) if user else messages.HAS_NO_ASSIGNEE


def _toast(reference: str, text: str, *, kind: str = "", undo: Any = None) -> str:
    return render("tickets/_picked.html", reference=reference, text=text, kind=kind, undo=undo)
