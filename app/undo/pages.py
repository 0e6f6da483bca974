"""The pages of undo: one click, or a confirmation if something changed since."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson
from flask import Blueprint, Response, request

from app.activity.sentences import as_mapping, in_words
from app.core.actor import Actor
from app.core.errors import Conflict, DomainError, Forbidden, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.idempotency import StoredAnswer
from app.database.session import reading
from app.undo import messages, service, wording
from app.undo.plans import SINCE
from app.undo.service import Ending, RequestOutcome, UndoOutcome
from app.web.forms import once
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, oob, page, render
from app.web.runs import join_run, run_fields

pages = Blueprint("undo_pages", __name__)

# The most events of a request that are counted.
MAX_COUNT = 10_000

WHY = {
    Ending.NOTHING_LEFT: messages.NOTHING_TO_UNDO,
    Ending.CHANGED_SINCE: messages.CHANGED_SINCE,
}


@pages.post("/audit/events/<event_id>/undo")
def undo_event(event_id: str) -> Response:
    """Undo an event; ask for confirmation if a value changed since, unless ``force`` is sent."""
    force = request.form.get("force") == "yes"
    back = safe_next(request.form.get("back"))
    try:
        outcome = write(lambda person: service.undo_event(person, event_id, force=force))
    except (Conflict, InvalidField, Forbidden, NotFound, Gone) as error:
        if (error.details or {}).get("resource") == "audit_event":
            raise
        return _refused(event_id, error, back)
    if outcome.ending is Ending.CHANGED_SINCE:
        return _ask_to_confirm(outcome, back)
    if not is_htmx():
        return go(back)
    text = messages.UNDONE if outcome.is_done else messages.NOTHING_LEFT
    badge = f'<span class="badge" id="undo-{event_id}" tabindex="-1">{messages.BADGE}</span>'
    response = html(badge + oob(render("audit/_toast.html", text=text, kind=""), "#toasts"))
    # Makes the page poll for the change at once.
    response.headers["HX-Trigger-After-Settle"] = "app:poll"
    return response


def _refused(event_id: str, error: DomainError, back: str) -> Response:
    """Leave the page unchanged and show why a verb refused."""
    if not is_htmx():
        return page("audit/not_undone.html", message=error.message, back=back, status=409)
    toast = render("audit/_toast.html", text=messages.could_not_undo(error.message), kind="error")
    response = html(oob(toast, "#toasts"), 409)
    response.headers["HX-Reswap"] = "none"
    return response


def _ask_to_confirm(outcome: UndoOutcome, back: str) -> Response:
    event = outcome.event
    with reading():
        (said,) = in_words([as_mapping(event)])
        choices = wording.choices(outcome.differences)
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


@pages.post("/audit/requests/<request_id>/undo")
def undo_request(request_id: str) -> Response:
    """Undo a request and show the result; with ``straight``, go back if all of it is undone."""
    back = safe_next(request.form.get("back"))
    beyond = as_uuid(request.form.get("next", ""))
    outcome: RequestOutcome = write(
        lambda person: service.undo_request(person, request_id, beyond=beyond)
    )
    if request.form.get("straight") and outcome.is_whole:
        return go(back)
    with reading():
        rows = _rows([*outcome.undone, *outcome.skipped])
    return page(
        "audit/undone.html",
        undone=rows[: len(outcome.undone)],
        skipped=rows[len(outcome.undone) :],
        left_out=outcome.left_out,
        action=request.path,
        beyond=outcome.beyond,
        back=back,
    )


@pages.post("/audit/requests/<request_id>/undo/step")
def undo_request_step(request_id: str) -> Response:
    """Undo some events of a request, those before ``next``; the JSON is that of a bulk change.

    The first step says the total, unless it is above ``MAX_COUNT``.
    """
    join_run(actor(), request.form.get("run", ""))
    beyond = as_uuid(request.form.get("next", ""))

    def step(person: Actor) -> StoredAnswer:
        total = None
        if beyond is None:
            total = service.count_of_request(person, request_id, MAX_COUNT + 1)
        outcome = service.undo_request_step(person, request_id, beyond=beyond)
        answer = {
            "changed": len(outcome.undone),
            "skipped": Counter(_why(one) for one in outcome.skipped),
            "next": outcome.beyond,
            "total": total if total and total <= MAX_COUNT else None,
            **run_fields(person),
        }
        return StoredAnswer(200, orjson.dumps(answer), {})

    answer = write(lambda person: once(person, partial(step, person)))
    return Response(answer.body, mimetype="application/json")


def _why(outcome: UndoOutcome) -> str:
    return WHY.get(outcome.ending, outcome.message)


def _rows(outcomes: Sequence[UndoOutcome]) -> list[dict[str, Any]]:
    events = in_words(as_mapping(outcome.event) for outcome in outcomes)
    return [
        {
            "id": outcome.event.id,
            "display_id": event["display_id"],
            "sentence": event["sentence"],
            "why": _why(outcome),
            "may_ask": outcome.ending is Ending.CHANGED_SINCE,
        }
        for outcome, event in zip(outcomes, events, strict=True)
    ]
