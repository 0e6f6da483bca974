"""Live updates of the ticket page, which requests them every few seconds.

The usual answer is 204 after one indexed query. Otherwise it has the new entries and the changed
fields, each out of band; static/js/stream.js skips a field that the reader is editing.
"""

from collections.abc import Iterable
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core import ids, text
from app.core.errors import Gone
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.tickets import page_queries, stream_queries
from app.tickets.fields import UPDATED
from app.tickets.links import LINK_CHANGED
from app.tickets.models import Ticket
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import messages, show, stream
from app.tickets.pages.blueprint import pages
from app.tickets.pages.fields import value_digest, value_of
from app.tickets.pages.stream import OVERLAP_MS, Reacted, Show, lay_out
from app.tickets.reactions import REACTED
from app.web.guard import actor
from app.web.render import html, render

PAGE_NAMES = {field.name: field.page_name for field in UPDATED if field.page_name}


@pages.get("/tickets/<reference>/live")
def live(reference: str) -> Response:
    """The news after the event ``since``; ``n`` is the number of known events before it."""
    since = as_uuid(request.args.get("since", "")) or ""
    known = text.small_int(request.args.get("n", ""))
    with reading():
        window = _window(reference, since) if since else []
        before = sum(event_id <= since for event_id in window)
        if since and len(window) == before and known in (None, before):
            return Response(status=204)
        try:
            subject = page_queries.subject(actor(), reference)
        except Gone:
            # The response has no trigger, so the page stops requesting.
            return html(render("tickets/_news_end.html", reference=reference))
        return html(_news(subject, window, stream.chosen(request.args.get("show"))))


def _window(reference: str, since: str) -> list[str]:
    """The ids of the ticket's events after this one, and in the overlap before it."""
    return list(
        session.scalars(
            select(AuditEvent.id)
            .join(Ticket, Ticket.id == AuditEvent.ticket_id)
            .where(
                Ticket.display_id == reference,
                stream_queries.SHOWN,
                AuditEvent.created_at >= ids.created_ms(since) - OVERLAP_MS,
            )
            .order_by(AuditEvent.created_at, AuditEvent.id)
            .limit(stream_queries.EVENTS_SHOWN)
        )
    )


def _news(subject: TicketPageData, window: list[str], part: Show) -> str:
    ticket_id = subject.ticket["id"]
    events = stream_queries.events_of(ticket_id, among=window) if window else []
    changed = _changed_fields(events)
    comment_ids = {event["comment_id"] for event in events if event["comment_id"]}
    comments = stream_queries.comments_of(ticket_id, among=comment_ids) if comment_ids else []
    rendered = lay_out(subject, comments)
    created = {event["comment_id"] for event in events if event["event_type"] == "comment.created"}
    new = [comment for comment in rendered if comment["id"] in created]
    others = [event for event in events if event["event_type"] != "comment.created"]
    reacted = {event["comment_id"] for event in others if event["event_type"] == REACTED}
    touched = {event["comment_id"] for event in others if event["event_type"] != REACTED}
    edited = [comment for comment in rendered if comment["id"] in touched]
    again: list[stream.Entry | Reacted] = [
        *stream.said(edited, events),
        *_undone(subject, events, window),
        *(Reacted(one) for one in comments if one["id"] in reacted - touched),
    ]
    content = show.entries(subject, stream.entries(subject, events, new, part), again)
    for name, by in changed.items():
        now = value_digest(name, value_of(subject.ticket, name))
        content += show.fragment(
            "tickets/_ticket_field.html", subject, name=name, by=by, now=now, out_of_band=True
        )
    content += _sides(subject, {event["event_type"] for event in events})
    content += show.fragment("tickets/_updated.html", subject, out_of_band=True)
    return content + render(
        "tickets/_news.html",
        ticket=subject.ticket,
        stream=stream.Stream(show=part, **stream.position(ticket_id, events)),
    )


def _undone(
    subject: TicketPageData, events: list[dict[str, Any]], window: list[str]
) -> list[stream.StreamLine]:
    """The lines of events that the new events undo, because they look different."""
    undone = {event["undo_of"] for event in events if event["undo_of"]}
    if not undone:
        return []
    both = stream_queries.events_of(subject.ticket["id"], among=undone.union(window))
    return [line for line in stream.lines(subject, both) if line.id in undone]


def _changed_fields(events: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The changed parts of the page, each with the name of its last actor."""
    changed: dict[str, str] = {}
    for event in events:
        by = event["actor"]["display_name"] if event["actor"] else messages.SOMEONE
        if event["event_type"] == "ticket.state_changed":
            changed["state"] = by
        elif event["event_type"] == "ticket.assigned":
            changed["assignee"] = by
        elif event["event_type"] == "ticket.updated":
            names = event["payload"]["changes"]
            changed |= {PAGE_NAMES[name]: by for name in names if name in PAGE_NAMES}
    return changed


def _sides(subject: TicketPageData, types: set[str]) -> str:
    """The lists of the side column that events of these types change."""
    content = ""
    if types & {"ticket.relation_added", "ticket.relation_removed"}:
        context = show.relations_of(subject)
        content += show.fragment("tickets/_relations.html", subject, **context, out_of_band=True)
    if types & {"ticket.link_added", "ticket.link_removed", LINK_CHANGED}:
        context = show.links_of(subject)
        content += show.fragment("tickets/_links.html", subject, **context, out_of_band=True)
    if types & {"ticket.watcher_added", "ticket.watcher_removed"}:
        context = show.watchers_of(subject)
        content += show.fragment("tickets/_watchers.html", subject, **context, out_of_band=True)
    return content
