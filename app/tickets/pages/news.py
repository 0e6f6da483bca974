"""What others did to a ticket while someone reads it: asked for every few seconds.

The usual answer is 204 after one look at an index. Else the new entries come, and the fields that
changed, each out of band; static/js/stream.js leaves alone what the reader is editing.
"""

from collections.abc import Iterable
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.audit.catalogue import Category
from app.audit.models import AuditEvent
from app.core import ids, text
from app.core.errors import Gone
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.tickets import page_queries, relations, stream_queries
from app.tickets.fields import UPDATED
from app.tickets.models import Ticket
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import show, stream
from app.tickets.pages.blueprint import pages
from app.tickets.pages.feed import RELATION_TYPES, grouped
from app.tickets.pages.stream import OVERLAP_MS, Show
from app.tickets.pages.texts import lay_out
from app.web.guard import actor
from app.web.render import html, render

# The parts of the page that show a field of the API.
FACT_OF = {one.name: one.part for one in UPDATED}


@pages.get("/tickets/<reference>/live")
def live(reference: str) -> Response:
    """What is new since an event of the ticket; 204 where nothing is."""
    since = as_uuid(request.args.get("since", "")) or ""
    known = text.whole(request.args.get("n", ""))
    with reading():
        window = _window(reference, since) if since else []
        before = sum(one <= since for one in window)
        if since and len(window) == before and known in (None, before):
            return Response(status=204)
        try:
            subject = page_queries.subject(actor(), reference)
        except Gone:
            # Without a trigger: nobody asks again.
            return html(render("tickets/_news_end.html", reference=reference))
        part = stream.chosen(request.args.get("show"))
        return html(_news(subject, window, part))


def _window(reference: str, since: str) -> list[str]:
    """The ticket's events since a little before this one."""
    return list(
        session.scalars(
            select(AuditEvent.id)
            .join(Ticket, Ticket.id == AuditEvent.ticket_id)
            .where(
                Ticket.display_id == reference,
                AuditEvent.category == Category.ACTIVITY.value,
                AuditEvent.created_at >= ids.created_ms(since) - OVERLAP_MS,
            )
            .order_by(AuditEvent.created_at, AuditEvent.id)
            .limit(stream_queries.EVENTS_SHOWN)
        )
    )


def _news(subject: TicketPageData, window: list[str], part: Show) -> str:
    ticket_id = subject.ticket["id"]
    events = stream_queries.events_of(ticket_id, among=window) if window else []
    changed = _facts(events)
    named = {one["comment_id"] for one in events if one["comment_id"]}
    comments = stream_queries.comments_of(ticket_id, among=named) if named else []
    laid_out = lay_out(subject, comments, only_comments="body" not in changed)
    written = {one["comment_id"] for one in events if one["event_type"] == "comment.created"}
    new = [one for one in laid_out if one["id"] in written]
    touched = {one["comment_id"] for one in events if one["event_type"] != "comment.created"}
    edited = [one for one in laid_out if one["id"] in touched]
    again: list[stream.Entry] = list(stream.said(edited, events))
    again += _undone(subject, events, window)
    made = show.entries(subject, stream.entries(subject, events, new, part), again)
    for name, by in changed.items():
        made += show.fragment("tickets/_fact.html", subject, name=name, by=by, out_of_band=True)
    made += _sides(subject, {one["event_type"] for one in events})
    newest = events[-1]["created_at"] if events else 0
    return made + render(
        "tickets/_news.html",
        ticket=subject.ticket,
        stream=stream.Stream(
            show=part,
            since=events[-1]["id"] if events else ticket_id,
            overlap=sum(newest - one["created_at"] <= OVERLAP_MS for one in events),
        ),
    )


def _undone(
    subject: TicketPageData, events: list[dict[str, Any]], window: list[str]
) -> list[stream.StreamLine]:
    """The lines that are undone by now, which look otherwise than the reader has them."""
    undone = {one["undo_of"] for one in events if one["undo_of"]}
    if not undone:
        return []
    among = undone.union(window)
    every = stream_queries.events_of(subject.ticket["id"], among=among)
    return [line for line in stream.lines(subject, every) if line.id in undone]


def _facts(events: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The fields that changed, with the name of whoever changed each last."""
    found: dict[str, str] = {}
    for event in events:
        by = event["actor"]["display_name"] if event["actor"] else "Someone"
        if event["event_type"] == "ticket.state_changed":
            found["state"] = by
        elif event["event_type"] == "ticket.assigned":
            found["assignee"] = by
        elif event["event_type"] == "ticket.updated":
            changes = event["payload"]["changes"]
            found |= {FACT_OF[name]: by for name in changes if name in FACT_OF}
    return found


def _sides(subject: TicketPageData, types: set[str]) -> str:
    """The lists beside the text that these types of events change."""
    made = ""
    if types & {"ticket.relation_added", "ticket.relation_removed"}:
        made += show.fragment(
            "tickets/_relations.html",
            subject,
            relations=grouped(relations.of_ticket(actor(), subject.ticket["id"])),
            relation_types=RELATION_TYPES,
            relation_form=None,
            out_of_band=True,
        )
    if types & {"ticket.watcher_added", "ticket.watcher_removed"}:
        made += show.fragment(
            "tickets/_watchers.html",
            subject,
            watchers=subject.watchers,
            watching=any(one["user_id"] == actor().id for one in subject.watchers),
            watcher_form=None,
            out_of_band=True,
        )
    return made
