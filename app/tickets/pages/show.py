"""One ticket: all of it on one page, and deleting it."""

from typing import Any

from flask import Response, g

from app.core.db import reading
from app.tickets import page_queries, relations, service
from app.tickets.page_queries import EVENTS_SHOWN, Subject
from app.tickets.pages.blueprint import FACTS, pages
from app.tickets.pages.feed import RELATION_TYPES, grouped, thread, told
from app.tickets.pages.texts import lay_out
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import go, oob, page, render


def show_ticket(reference: str, *, comment_form: Form | None = None, status: int = 200) -> Response:
    """The whole page, with the comment form as it was sent where it was refused."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        ticket_id = subject.ticket["id"]
        children = page_queries.children(ticket_id)
        related = relations.of_ticket(actor(), ticket_id)
        events = page_queries.events_of(ticket_id)
        comments = lay_out(subject, page_queries.comments_of(ticket_id))
    entries = thread(comments, told(events, ticket_id, subject.labels))
    done = [one for one in children if one["state"] and one["state"]["category"] == "done"]
    return page(
        "tickets/show.html",
        project=subject.project,
        ticket=subject.ticket,
        labels=subject.labels,
        facts=FACTS,
        children=children,
        children_done=len(done),
        relations=grouped(related),
        relation_types=RELATION_TYPES,
        relation_form=None,
        watchers=subject.watchers,
        watching=any(one["user_id"] == actor().id for one in subject.watchers),
        watcher_form=None,
        entries=entries,
        earlier=len(events) == EVENTS_SHOWN,
        comment_form=comment_form,
        status=status,
    )


@pages.get("/tickets/<reference>")
def show(reference: str) -> Response:
    """Show the ticket."""
    return show_ticket(reference)


def new_events(subject: Subject) -> str:
    """What this request did, as further entries of the thread."""
    ticket_id = subject.ticket["id"]
    events = told(page_queries.events_of(ticket_id, g.request_id), ticket_id, subject.labels)
    shown = "".join(render("tickets/_event.html", event=event) for event in events)
    return oob(shown, "#thread") if shown else ""


def fragment(template: str, subject: Subject, **context: Any) -> str:
    """A part of the page that shows this ticket."""
    return render(template, project=subject.project, ticket=subject.ticket, facts=FACTS, **context)


@pages.get("/tickets/<reference>/delete")
def confirm_delete(reference: str) -> Response:
    """Ask before deleting."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        children = page_queries.children(subject.ticket["id"])
    return page(
        "tickets/delete.html",
        block="sheet",
        project=subject.project,
        ticket=subject.ticket,
        children=len(children),
    )


@pages.post("/tickets/<reference>/delete")
def delete(reference: str) -> Response:
    """Delete the ticket and go back to its board."""
    with reading():
        subject = page_queries.subject(actor(), reference)
    write(lambda present: service.delete_ticket(present, reference))
    return go(f"/projects/{subject.project['key']}/board")
