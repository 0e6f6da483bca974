"""One ticket on one page; copying from it, deleting and restoring it."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, g, request

from app.config import settings_at_hand
from app.core.errors import Gone
from app.database.session import reading
from app.tickets import page_queries, relations, service, stream_queries
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import stream
from app.tickets.pages.blueprint import FACTS, pages
from app.tickets.pages.feed import RELATION_TYPES, grouped
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import cached_page, go, is_htmx, oob, page, render


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


@pages.post("/tickets/<reference>/restore")
def restore(reference: str) -> Response:
    """Bring the ticket back and show it; raises Conflict where it is not deleted."""
    write(lambda present: service.restore_ticket(present, reference))
    return go(f"/tickets/{reference}")


BRANCH_LENGTH = 60
_NOT_IN_BRANCH = re.compile(r"[^a-z0-9]+")


def branch_name(display_id: str, title: str) -> str:
    """``demo-12-fix-the-login``: a name that every version control system takes."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NOT_IN_BRANCH.sub("-", plain).strip("-")
    return f"{display_id.lower()}-{words}"[:BRANCH_LENGTH].strip("-")


def copies(ticket: Mapping[str, Any], base_url: str) -> list[tuple[str, str]]:
    """What is copied, by what it is called."""
    display_id, title = ticket["display_id"], ticket["title"]
    link = f"{base_url}/tickets/{display_id}"
    # Brackets in a title would end the text of the link.
    said = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return [
        ("Link", link),
        ("Id", display_id),
        ("Branch name", branch_name(display_id, title)),
        ("Markdown", f"[{display_id}: {said}]({link})"),
        ("Prompt for an agent", _prompt(display_id, title)),
    ]


def _prompt(display_id: str, title: str) -> str:
    return (
        f"Work on {display_id}: {title}\n\n"
        f"Read ticket://{display_id} with its comments and relations first. "
        "Assign it to yourself and move it to a state in which it is being worked on. "
        "When you are done, comment on what you did and move it on; "
        "if you need a decision, comment with a question and assign it to whoever reported it."
    )


def show_ticket(reference: str, *, comment_form: Form | None = None, status: int = 200) -> Response:
    """The whole page, with the comment form as it was sent where it was refused."""
    with reading():
        try:
            subject = page_queries.subject(actor(), reference)
        except Gone as error:
            if (error.details or {}).get("resource") != "ticket":
                raise
            return _deleted(reference)
        ticket_id = subject.ticket["id"]
        children = page_queries.children(ticket_id)
        related = relations.of_ticket(actor(), ticket_id)
        shown = stream.read(subject, stream.chosen(request.args.get("show")))
    context = {
        "project": subject.project,
        "ticket": subject.ticket,
        "labels": subject.labels,
        "facts": FACTS,
        "copies": copies(subject.ticket, _base_url()),
        **below(children),
        "linked": subject.sources,
        "relations": grouped(related),
        "relation_types": RELATION_TYPES,
        "relation_form": None,
        "watchers": subject.watchers,
        "watching": any(one["user_id"] == actor().id for one in subject.watchers),
        "watcher_form": None,
        "stream": shown,
        "filters": stream.FILTERS,
        "comment_form": comment_form,
    }
    if comment_form is None:
        return cached_page("tickets/show.html", context)
    return page("tickets/show.html", status=status, **context)


def _base_url() -> str:
    settings = settings_at_hand()
    return settings.base_url


def below(children: list[dict[str, Any]]) -> dict[str, Any]:
    """What lies below a ticket, and how much of it is done, for a template."""
    done = [one for one in children if one["state"] and one["state"]["category"] == "done"]
    return {"children": children, "children_done": len(done)}


def _deleted(reference: str) -> Response:
    """What is left to see of a deleted ticket, in a unit of work."""
    found = page_queries.deleted(actor(), reference)
    return page("tickets/deleted.html", **found, status=410)


@pages.get("/tickets/<reference>")
def show(reference: str) -> Response:
    """Show the ticket; where htmx asks, its stream alone."""
    if not is_htmx():
        return show_ticket(reference)
    with reading():
        subject = page_queries.subject(actor(), reference)
        shown = stream.read(subject, stream.chosen(request.args.get("show")), with_body=False)
    return page(
        "tickets/show.html",
        block="stream",
        ticket=subject.ticket,
        stream=shown,
        filters=stream.FILTERS,
    )


def new_events(subject: TicketPageData) -> str:
    """What this request did, as further entries of the stream."""
    events = stream_queries.events_of(subject.ticket["id"], request_id=g.request_id)
    return entries(subject, list(stream.lines(subject, events)))


def entries(subject: TicketPageData, new: list[Any], again: Sequence[Any] = ()) -> str:
    """Further entries for the end of the stream, and some that take the place of the old.

    The browser drops new ones that it has already, and of the others those that it does not have.
    """
    shown = "".join(
        render("tickets/_entries.html", entries=found, ticket=subject.ticket, again=is_again)
        for found, is_again in ((new, False), (again, True))
        if found
    )
    return oob(shown, "#thread") if shown else ""


def fragment(template: str, subject: TicketPageData, **context: Any) -> str:
    """A part of the page that shows this ticket."""
    return render(template, project=subject.project, ticket=subject.ticket, facts=FACTS, **context)
