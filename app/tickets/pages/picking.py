"""Choosing a card's assignee, priority or labels on the board, in a sheet, or as a page of its own.

As on the ticket page, the form says what it showed: if that has changed by now, nothing is written.
"""

from typing import Any

from flask import Response, request

from app.accounts.builders import user_summary
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import reading
from app.rest.fields import load
from app.tickets import board_sidebar, loaders, page_queries, service
from app.tickets.filters import PRIORITIES
from app.tickets.models import Ticket
from app.tickets.pages.blueprint import may_be_assigned, pages
from app.tickets.pages.moving import shown_card
from app.tickets.read import labels_of
from app.tickets.schemas import TicketPatch
from app.tickets.ticket_labels import label_ids_of
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next
from app.web.render import go, html, is_htmx, page, render

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
    return _choose(reference, name, Form())


def _choose(reference: str, name: str, form: Form) -> Response:
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
        return _choose(reference, name, form) if form.errors else go(safe_next(form.value("back")))
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
