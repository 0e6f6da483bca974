"""The page of one ticket, with fragments of it; deleting and restoring tickets."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, g, request

from app.core.errors import Gone
from app.database.session import reading
from app.http.current import current_settings
from app.tickets import page_queries, relations, service, stream_queries
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import messages, past, stream
from app.tickets.pages.blueprint import FIELD_LABELS, pages, ticket_page
from app.tickets.pages.feed import RELATION_TYPES, grouped
from app.tickets.pages.stream import StreamRows
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import cached_page, go, is_htmx, oob, page, partial, render


@pages.get("/tickets/<reference>/delete")
def confirm_delete(reference: str) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        children = page_queries.children(subject.ticket["id"])
    return ticket_page("tickets/delete.html", subject, children=len(children))


@pages.post("/tickets/<reference>/delete")
def delete(reference: str) -> Response:
    write(lambda person: service.delete_ticket(person, reference))
    # The page of a deleted ticket offers to restore it, and says what happened to its children.
    return go(f"/tickets/{reference}")


@pages.post("/tickets/<reference>/restore")
def restore(reference: str) -> Response:
    write(lambda person: service.restore_ticket(person, reference))
    return go(f"/tickets/{reference}")


# The most comments of a ticket that is read beside a list.
PEEKED_COMMENTS = 3


@pages.get("/tickets/<reference>/peek")
def peek(reference: str) -> Response:
    """The ticket to read beside a list; readers without scripts get its page."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        if not is_htmx():
            return go(f"/tickets/{reference}")
        children = page_queries.children(subject.ticket["id"])
        comments = [
            comment
            for comment in stream_queries.comments_of(subject.ticket["id"])
            if comment["deleted_at"] is None
        ]
        latest = stream.lay_out(subject, comments[-PEEKED_COMMENTS:])
    return partial("tickets/peek.html", ticket=subject.ticket, comments=latest, **below(children))


BRANCH_LENGTH = 60
_NOT_IN_BRANCH = re.compile(r"[^a-z0-9]+")


def branch_name(display_id: str, title: str) -> str:
    """``demo-12-fix-the-login``: lower-case ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NOT_IN_BRANCH.sub("-", plain).strip("-")
    return f"{display_id.lower()}-{words}"[:BRANCH_LENGTH].strip("-")


def copies(ticket: Mapping[str, Any], base_url: str) -> list[tuple[str, str]]:
    """(label, text) of each item of the copy menu."""
    display_id, title = ticket["display_id"], ticket["title"]
    link = f"{base_url}/tickets/{display_id}"
    # Brackets in a title would end the text of the link.
    text = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return [
        (messages.LINK, link),
        ("ID", display_id),
        (messages.BRANCH_NAME, branch_name(display_id, title)),
        (messages.MARKDOWN, f"[{display_id}: {text}]({link})"),
        (messages.PROMPT, messages.prompt(display_id, title)),
    ]


def show_ticket(reference: str, *, comment_form: Form | None = None, status: int = 200) -> Response:
    """The whole page; ``comment_form`` is a refused comment to show again."""
    with reading():
        try:
            subject = page_queries.subject(actor(), reference)
        except Gone as error:
            if (error.details or {}).get("resource") != "ticket":
                raise
            deleted = page_queries.deleted(actor(), reference)
            return page("tickets/deleted.html", **deleted, status=410)
        ticket_id = subject.ticket["id"]
        children = page_queries.children(ticket_id) if subject.has_children else []
        related = relations_of(subject)
        rows = stream.rows(subject, stream.chosen(request.args.get("show")))
    key: dict[str, Any] = {
        "subject": subject,
        "children": children,
        "related": related,
        "rows": rows,
        "base_url": current_settings().base_url,
    }
    if comment_form is None:
        return cached_page("tickets/show.html", key, lambda: _context(**key))
    context = _context(**key) | {"comment_form": comment_form}
    return page("tickets/show.html", status=status, **context)


def _context(
    subject: TicketPageData,
    children: list[dict[str, Any]],
    related: dict[str, Any],
    rows: StreamRows,
    base_url: str,
) -> dict[str, Any]:
    return {
        "project": subject.project,
        "ticket": subject.ticket,
        "labels": subject.labels,
        "field_labels": FIELD_LABELS,
        "copies": copies(subject.ticket, base_url),
        **below(children),
        "linked": subject.sources,
        **related,
        **links_of(subject),
        **watchers_of(subject),
        "files": subject.files,
        "stream": stream.render_rows(subject, rows),
        "filters": stream.FILTERS,
        "comment_form": None,
    }


def below(children: list[dict[str, Any]]) -> dict[str, Any]:
    """The context of ``_children.html``: children, and the number of done ones."""
    done = [child for child in children if child["state"] and child["state"]["category"] == "done"]
    return {"children": children, "children_done": len(done)}


def relations_of(subject: TicketPageData, form: Form | None = None) -> dict[str, Any]:
    """The context of ``_relations.html``; ``form`` is a refused one. Needs a unit of work."""
    found = relations.of_ticket(actor(), subject.ticket["id"]) if subject.has_relations else []
    return {"relations": grouped(found), "relation_types": RELATION_TYPES, "relation_form": form}


def links_of(subject: TicketPageData, form: Form | None = None) -> dict[str, Any]:
    """The context of ``_links.html``; ``form`` is a refused one."""
    return {"links": subject.links, "link_form": form}


def watchers_of(subject: TicketPageData, form: Form | None = None) -> dict[str, Any]:
    """The context of ``_watchers.html``; ``form`` is a refused one."""
    return {
        "watchers": subject.watchers,
        "watching": any(watcher["user_id"] == actor().id for watcher in subject.watchers),
        "muted": subject.is_muted,
        "watcher_form": form,
    }


@pages.get("/tickets/<reference>")
def show(reference: str) -> Response:
    """The ticket, or as it was at a time; for htmx, only its stream."""
    if past.is_requested():
        return past.show_past(reference)
    if not is_htmx():
        return show_ticket(reference)
    with reading():
        subject = page_queries.subject(actor(), reference)
        rows = stream.rows(subject, stream.chosen(request.args.get("show")))
    return ticket_page(
        "tickets/show.html",
        subject,
        block="stream",
        stream=stream.render_rows(subject, rows),
        filters=stream.FILTERS,
    )


def new_events(subject: TicketPageData) -> str:
    """The events of this request, as new entries of the stream."""
    events = stream_queries.events_of(subject.ticket["id"], request_id=g.request_id)
    return entries(subject, list(stream.lines(subject, events)))


def entries(subject: TicketPageData, new: list[Any], again: Sequence[Any] = ()) -> str:
    """New entries for the end of the stream, and existing ones ``again`` to be replaced.

    The browser drops new entries that it already has, and replacements of entries it does not have.
    """
    content = "".join(
        render("tickets/_entries.html", entries=part, ticket=subject.ticket, again=is_again)
        for part, is_again in ((new, False), (again, True))
        if part
    )
    return oob(content, "#thread") if content else ""


def fragment(template: str, subject: TicketPageData, **context: Any) -> str:
    context |= {"project": subject.project, "ticket": subject.ticket}
    return render(template, field_labels=FIELD_LABELS, **context)
