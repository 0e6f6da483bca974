"""Undo, as people do it: one click where nothing changed since, a question where something did."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.activity.sentences import sentence
from app.core.errors import Conflict, DomainError, Forbidden, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.projects.models import WorkflowState
from app.text.diff import Diff, compare
from app.tickets import stream_queries
from app.tickets.fields import FIELDS
from app.tickets.models import Ticket
from app.undo import service
from app.undo.plans import SINCE, Difference
from app.undo.service import Ending, RequestOutcome, UndoOutcome
from app.web.filters import day
from app.web.guard import safe_next, write
from app.web.render import go, html, is_htmx, oob, page, render

pages = Blueprint("undo_pages", __name__)


LABELS = {one.name: one.label for one in FIELDS} | {
    # Comments and pages have one as well.
    "body": "Text",
    "name": "Name",
    "color": "Colour",
    "category": "Category",
    "tickets": "Tickets that carry it",
    "state_ids": "Order",
}
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """A value that changed since, in words: what is there, and what undoing puts in its place."""

    name: str
    now: str
    back: str
    # Of texts: what undoing would change.
    diff: Diff | None = None


@pages.post("/audit/events/<event_id>/undo")
def undo_event(event_id: str) -> Response:
    """Undo an event; ask where a value changed since, unless told to go on."""
    force = request.form.get("force") == "yes"
    back = safe_next(request.form.get("back"))
    try:
        outcome = write(lambda present: service.undo_event(present, event_id, force=force))
    except (Conflict, InvalidField, Forbidden, NotFound, Gone) as error:
        if (error.details or {}).get("resource") == "audit_event":
            raise
        return _refused(event_id, error, back)
    if outcome.ending is Ending.CHANGED_SINCE:
        return _ask_to_confirm(outcome, back)
    if not is_htmx():
        return go(back)
    done = outcome.is_done
    text = "Undone" if done else "Nothing was left to undo"
    shown = f'<span class="badge" id="undo-{event_id}" tabindex="-1">undone</span>'
    answer = html(shown + oob(render("audit/_toast.html", text=text, kind=""), "#toasts"))
    # The page asks for what changed at once, not at its next turn.
    answer.headers["HX-Trigger-After-Settle"] = "app:poll"
    return answer


def _refused(event_id: str, error: DomainError, back: str) -> Response:
    """A rule forbids it now: the page stays as it is and says why."""
    if not is_htmx():
        return page("audit/not_undone.html", message=error.message, back=back, status=409)
    toast = render("audit/_toast.html", text=f"Not undone. {error.message}", kind="error")
    answer = html(oob(toast, "#toasts"), 409)
    answer.headers["HX-Reswap"] = "none"
    return answer


def _ask_to_confirm(outcome: UndoOutcome, back: str) -> Response:
    """What changed since, and whether to go on all the same."""
    event = outcome.event
    with reading():
        ticket = session.get(Ticket, event.ticket_id) if event.ticket_id else None
        choices = _choices(outcome.differences)
    shown: dict[str, Any] = {
        "event": event,
        "choices": choices,
        "since": next((one.now for one in outcome.differences if one.field == SINCE), 0),
        "sentence": sentence(
            event.event_type, event.payload, ticket.display_id if ticket else None
        ),
        "back": back,
    }
    answer = page("audit/undo.html", block="sheet", status=409, **shown)
    if is_htmx():
        answer.headers["HX-Retarget"] = "#dialog-body"
        answer.headers["HX-Reswap"] = "innerHTML"
    return answer


def _choices(differences: tuple[Difference, ...]) -> list[UndoChoice]:
    """The differences in words, in a unit of work."""
    found = [one for one in differences if one.field in LABELS]
    values = {
        value
        for one in found
        for side in (one.back, one.now)
        for value in (side if isinstance(side, list) else [side])
        if isinstance(value, str) and as_uuid(value)
    }
    names = stream_queries.names_of(values)
    rows = session.execute(
        select(WorkflowState.id, WorkflowState.name).where(WorkflowState.id.in_(values))
    )
    names |= {row.id: row.name for row in rows}
    return [_choice(one, names) for one in found]


def _choice(one: Difference, names: dict[str, str]) -> UndoChoice:
    name = LABELS[one.field]
    if one.field == "body":
        return UndoChoice(name, "", "", compare(one.now or "", one.back or ""))
    now, back = (_word(one.field, value, names) for value in (one.now, one.back))
    return UndoChoice(name, now, back)


def _word(field: str, value: Any, names: dict[str, str]) -> str:
    if value is None:
        return NOTHING
    if field == "due_date":
        return day(value)
    if isinstance(value, list):
        return ", ".join(names.get(one) or one for one in value)
    return names.get(value, str(value))


@pages.post("/audit/requests/<request_id>/undo")
def undo_request(request_id: str) -> Response:
    """Undo all that a request did, and say what of it was left.

    Where it was asked for beside what happened, and nothing was left, this leads straight back.
    """
    back = safe_next(request.form.get("back"))
    outcome: RequestOutcome = write(lambda present: service.undo_request(present, request_id))
    if request.form.get("straight") and outcome.is_whole:
        return go(back)
    with reading():
        rows = [_row(one) for one in (*outcome.undone, *outcome.skipped)]
    return page(
        "audit/undone.html",
        undone=rows[: len(outcome.undone)],
        skipped=rows[len(outcome.undone) :],
        left_out=outcome.left_out,
        back=back,
    )


WHY = {
    Ending.NOTHING_LEFT: "Nothing of it was left.",
    Ending.CHANGED_SINCE: "Someone changed it since.",
}


def _row(outcome: UndoOutcome) -> dict[str, Any]:
    event = outcome.event
    ticket = session.get(Ticket, event.ticket_id) if event.ticket_id else None
    display_id = ticket.display_id if ticket else None
    return {
        "id": event.id,
        "display_id": display_id,
        "sentence": sentence(event.event_type, event.payload, display_id),
        "why": WHY.get(outcome.ending, outcome.message),
        "may_ask": outcome.ending is Ending.CHANGED_SINCE,
    }
