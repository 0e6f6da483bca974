"""The page of a ticket as it was at a time, with a slider over the times of its changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, request

from app.core.clock import iso, now_ms
from app.database.session import reading
from app.rest.fields import load
from app.tickets import page_queries, past, stream_queries
from app.tickets.pages import stream
from app.tickets.schemas import TicketQuery
from app.web.guard import actor
from app.web.render import page

# The parameters that request the past of a ticket's page: a time, or the number of a change.
AT, CHANGE = "at", "change"


def is_requested() -> bool:
    return AT in request.args or CHANGE in request.args


def show_past(reference: str) -> Response:
    """The ticket at a time, to read; raises NotFound, Gone, RequestInvalid or InvalidField."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        ticket_id = subject.ticket["id"]
        times = past.change_times(actor(), reference)
        at = _moment(times)
        ticket = past.get_ticket_at(actor(), reference, at=at)
        subject.ticket.clear()
        subject.ticket.update(ticket)
        comments = comments_at(stream_queries.comments_of(ticket_id), iso(at))
        shown = stream.lay_out(subject, comments)
    number = sum(one <= at for one in times)
    return page(
        "tickets/past.html",
        block="past",
        project=subject.project,
        ticket=subject.ticket,
        labels=subject.ticket["labels"],
        comments=shown,
        at=at,
        number=number,
        count=len(times),
        earlier=iso(times[number - 2]) if number > 1 else "",
        later=iso(times[number]) if number < len(times) else "",
    )


def _moment(times: Sequence[int]) -> int:
    """The requested time: ``at``, else that of the numbered change, else of the last change."""
    if AT in request.args:
        moment: int = load(TicketQuery, {AT: request.args[AT]}, "query")[AT]
        return min(moment, now_ms())
    sent = request.args.get(CHANGE, "")
    number = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 6 else len(times)
    return times[min(max(number, 1), len(times)) - 1]


def comments_at(comments: Sequence[Mapping[str, Any]], at: str) -> list[dict[str, Any]]:
    """The comments that existed, each with the text that it had."""
    return [
        {**comment, "deleted_at": None, "body": _text_at(comment, at)}
        for comment in comments
        if comment["created_at"] <= at
        and (comment["deleted_at"] is None or comment["deleted_at"] > at)
    ]


def _text_at(comment: Mapping[str, Any], at: str) -> str:
    """The text before the first later edit."""
    later = (entry["body"] for entry in comment["edit_history"] if entry["edited_at"] > at)
    text: str = next(later, comment["body"])
    return text
