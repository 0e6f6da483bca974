"""The pages of undo: one click, or a confirmation if something changed since."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.activity.sentences import as_mapping, in_words
from app.core.errors import Conflict, DomainError, Forbidden, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.projects.models import WorkflowState
from app.text.diff import Diff, compare
from app.tickets import stream_queries
from app.tickets.fields import FIELDS
from app.undo import service
from app.undo.plans import SINCE, Difference
from app.undo.service import Ending, RequestOutcome, UndoOutcome
from app.web.filters import day
from app.web.guard import safe_next, write
from app.web.render import go, html, is_htmx, oob, page, render

pages = Blueprint("undo_pages", __name__)


LABELS = {field.name: field.label for field in FIELDS} | {
    "body": "Text",
    "name": "Name",
    "description": "Description",
    "owner_user_id": "Owner",
    "type": "Type",
    "wip_limit": "Limit",
    "color": "Colour",
    "category": "Category",
    "tickets": "Tickets",
    "state_ids": "Order",
    "query": "Filters",
}
NOTHING = "nothing"
WHY = {
    Ending.NOTHING_LEFT: "Nothing left to undo.",
    Ending.CHANGED_SINCE: "Someone has changed this since.",
}


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """A value that changed since, in words; of texts the diff that undo would apply."""

    name: str
    now: str
    back: str
    diff: Diff | None = None


@pages.post("/audit/events/<event_id>/undo")
def undo_event(event_id: str) -> Response:
    """Undo an event; ask for confirmation if a value changed since, unless ``force`` is sent."""
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
    text = "Undone" if outcome.is_done else "Nothing left to undo"
    badge = f'<span class="badge" id="undo-{event_id}" tabindex="-1">undone</span>'
    response = html(badge + oob(render("audit/_toast.html", text=text, kind=""), "#toasts"))
    # Makes the page poll for the change at once.
    response.headers["HX-Trigger-After-Settle"] = "app:poll"
    return response


def _refused(event_id: str, error: DomainError, back: str) -> Response:
    """Leave the page unchanged and show why a verb refused."""
    if not is_htmx():
        return page("audit/not_undone.html", message=error.message, back=back, status=409)
    toast = render("audit/_toast.html", text=f"Could not undo. {error.message}", kind="error")
    response = html(oob(toast, "#toasts"), 409)
    response.headers["HX-Reswap"] = "none"
    return response


def _ask_to_confirm(outcome: UndoOutcome, back: str) -> Response:
    event = outcome.event
    with reading():
        (said,) = in_words([as_mapping(event)])
        choices = _choices(outcome.differences)
    response = page(
        "audit/undo.html",
        block="sheet",
        status=409,
        event=event,
        choices=choices,
        since=next((one.now for one in outcome.differences if one.field == SINCE), 0),
        sentence=said["sentence"],
        back=back,
    )
    if is_htmx():
        response.headers["HX-Retarget"] = "#dialog-body"
        response.headers["HX-Reswap"] = "innerHTML"
    return response


def _choices(differences: tuple[Difference, ...]) -> list[UndoChoice]:
    """The differences in words; needs a unit of work."""
    shown = [one for one in differences if one.field in LABELS]
    ids = {
        value
        for one in shown
        for side in (one.back, one.now)
        for value in (side if isinstance(side, list) else [side])
        if isinstance(value, str) and as_uuid(value)
    }
    names = stream_queries.names_of(ids)
    rows = session.execute(
        select(WorkflowState.id, WorkflowState.name).where(WorkflowState.id.in_(ids))
    )
    names |= {row.id: row.name for row in rows}
    return [_choice(one, names) for one in shown]


def _choice(difference: Difference, names: dict[str, str]) -> UndoChoice:
    field, now, back = difference.field, difference.now, difference.back
    if field == "body":
        return UndoChoice(LABELS[field], "", "", compare(now or "", back or ""))
    return UndoChoice(LABELS[field], _in_words(field, now, names), _in_words(field, back, names))


def _in_words(field: str, value: Any, names: dict[str, str]) -> str:
    if value is None:
        return NOTHING
    if field == "due_date":
        return day(value)
    if isinstance(value, list):
        return ", ".join(names.get(one) or one for one in value)
    return names.get(value, str(value))


@pages.post("/audit/requests/<request_id>/undo")
def undo_request(request_id: str) -> Response:
    """Undo a request and show the result; with ``straight``, go back if all of it is undone."""
    back = safe_next(request.form.get("back"))
    outcome: RequestOutcome = write(lambda present: service.undo_request(present, request_id))
    if request.form.get("straight") and outcome.is_whole:
        return go(back)
    with reading():
        rows = _rows([*outcome.undone, *outcome.skipped])
    return page(
        "audit/undone.html",
        undone=rows[: len(outcome.undone)],
        skipped=rows[len(outcome.undone) :],
        left_out=outcome.left_out,
        back=back,
    )


def _rows(outcomes: Sequence[UndoOutcome]) -> list[dict[str, Any]]:
    events = in_words(as_mapping(outcome.event) for outcome in outcomes)
    return [
        {
            "id": outcome.event.id,
            "display_id": event["display_id"],
            "sentence": event["sentence"],
            "why": WHY.get(outcome.ending, outcome.message),
            "may_ask": outcome.ending is Ending.CHANGED_SINCE,
        }
        for outcome, event in zip(outcomes, events, strict=True)
    ]
