"""Comments on the ticket page: adding, editing, history and deletion."""

from itertools import pairwise
from typing import Any

from flask import Response, g, request

from app.core.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.database.session import by_id, reading
from app.projects import states
from app.text.diff import compare
from app.tickets import comments, loaders, page_queries, service, stream_queries
from app.tickets.models import Comment
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import show, stream
from app.tickets.pages.blueprint import in_page_words, open_below_text, pages, ticket_page
from app.tickets.pages.stream import Said, lay_out
from app.tickets.schemas import CommentCreate, CommentPatch
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, render, render_block, toast


@pages.post("/tickets/<reference>/comments")
def add_comment(reference: str) -> Response:
    """Add a comment, and move the ticket if a state was sent."""
    form = load_form(CommentCreate)
    state_id = request.form.get("state_id")

    def work(person: Actor) -> str:
        with in_page_words():
            if state_id:
                service.transition_ticket(
                    person, reference, state_id=state_id, comment=form.data["body"]
                )
            else:
                comments.create_comment(person, reference, body=form.data["body"])
        return f"/tickets/{reference}"

    target = create(form, work)
    if not is_htmx():
        return go(target) if target else show.show_ticket(reference, comment_form=form, status=422)
    with reading():
        subject = page_queries.subject(actor(), reference)
        content = render_block(
            "tickets/show.html",
            "composer",
            ticket=subject.ticket,
            comment_form=None if target else form,
        )
        if target:
            content += _new_entries(subject)
            if state_id:
                content += show.fragment(
                    "tickets/_ticket_field.html", subject, name="state", by="", out_of_band=True
                )
                # No undo here: it would remove the comment too. The stream has one for the move.
                below = open_below_text([subject.ticket["id"]])
                content += toast(below) if below else ""
    return html(content, 200 if target else 422)


def _new_entries(subject: TicketPageData) -> str:
    """The stream entries that this request added: a comment, and perhaps a move."""
    events = stream_queries.events_of(subject.ticket["id"], request_id=g.request_id)
    ids = {event["comment_id"] for event in events if event["comment_id"]}
    comments = stream_queries.comments_of(subject.ticket["id"], among=ids) if ids else []
    rendered = lay_out(subject, comments)
    return show.entries(subject, stream.entries(subject, events, rendered, stream.Show.ALL))


@pages.get("/tickets/<reference>/comments")
def older_comments(reference: str) -> Response:
    """The comments before the comment ``before``, oldest first, and the way to older ones."""
    part, comment_id = stream.chosen(request.args.get("show")), request.args.get("before")
    with reading():
        subject = page_queries.subject(actor(), reference)
        before = by_id(Comment, comment_id) if comment_id else None
        if comment_id and (before is None or before.ticket_id != subject.ticket["id"]):
            raise NotFound("comment", comment_id)
        found = stream_queries.comments_of(subject.ticket["id"], before=before)
        shown, oldest = stream.newest(lay_out(subject, found))
        entries = stream.entries(subject, [], shown, part)
    older = stream.Stream(entries, part, oldest=oldest)
    return ticket_page("tickets/older_comments.html", subject, block="older", stream=older)


@pages.get("/tickets/<reference>/comments/states")
def states_to_move_to(reference: str) -> Response:
    """The buttons of the comment form that also move the ticket."""
    with reading():
        ticket = loaders.visible(actor(), reference)
        ordered = states.ordered(ticket.project_id)
    return html(render("tickets/_states.html", states=ordered, state_id=ticket.state_id))


def _find(comment_id: str) -> tuple[Said, TicketPageData]:
    """The comment as an entry of the stream, and its ticket; raises NotFound or Gone."""
    with reading():
        comment, ticket = loaders.visible_comment(actor(), comment_id)
        subject = page_queries.subject(actor(), ticket.display_id)
        return _said(subject, comment.id), subject


def _said(subject: TicketPageData, comment_id: str) -> Said:
    rows = stream_queries.comments_of(subject.ticket["id"], among=[comment_id])
    events = stream_queries.events_of(subject.ticket["id"], comment_id=comment_id)
    (entry,) = stream.said(lay_out(subject, rows), events)
    return entry


def _shown(entry: Said, subject: TicketPageData) -> Response:
    return html(render("tickets/_comment.html", entry=entry, ticket=subject.ticket))


@pages.get("/comments/<comment_id>")
def show_comment(comment_id: str) -> Response:
    """The comment for htmx; otherwise a redirect to the page that shows it, deleted or not."""
    if is_htmx():
        return _shown(*_find(comment_id))
    with reading():
        comment, ticket = loaders.visible_comment(actor(), comment_id, include_deleted=True)
        later = stream_queries.later_comment(comment)
    older = f"/comments?before={later}" if later else ""
    return go(f"/tickets/{ticket.display_id}{older}#comment-{comment.id}")


@pages.get("/comments/<comment_id>/history")
def comment_history(comment_id: str) -> Response:
    """The diff of each edit, newest first."""
    entry, subject = _find(comment_id)
    comment = entry.comment
    return ticket_page(
        "tickets/comment_history.html",
        subject,
        block="edits",
        comment=comment,
        edits=_edits(comment),
    )


def _edits(comment: dict[str, Any]) -> list[dict[str, Any]]:
    bodies = [*(old["body"] for old in comment["edit_history"]), comment["body"]]
    times = [old["edited_at"] for old in comment["edit_history"]]
    edits = [
        {"edited_at": time, "diff": compare(before, after)}
        for time, (before, after) in zip(times, pairwise(bodies), strict=True)
    ]
    return edits[::-1]


def _editor(comment_id: str, form: Form) -> Response:
    entry, subject = _find(comment_id)
    if entry.comment["author_user_id"] != actor().id:
        raise Forbidden("not_author")
    status = 422 if form.errors else 200
    return ticket_page(
        "tickets/comment_edit.html", subject, comment=entry.comment, form=form, status=status
    )


@pages.get("/comments/<comment_id>/edit")
def edit_comment(comment_id: str) -> Response:
    return _editor(comment_id, Form())


@pages.post("/comments/<comment_id>/edit")
def save_comment(comment_id: str) -> Response:
    form = load_form(CommentPatch, keep_empty=True)

    def work(person: Actor) -> None:
        with in_page_words():
            comments.update_comment(person, comment_id, **form.data)

    if submit(form, work):
        return show_comment(comment_id)
    return _editor(comment_id, form)


@pages.get("/comments/<comment_id>/delete")
def confirm_delete_comment(comment_id: str) -> Response:
    entry, subject = _find(comment_id)
    return ticket_page("tickets/comment_delete.html", subject, comment=entry.comment)


@pages.post("/comments/<comment_id>/delete")
def delete_comment(comment_id: str) -> Response:
    """Delete a comment, and show the line that replaces it, with the undo button."""
    entry, subject = _find(comment_id)
    submit(Form(), lambda person: comments.delete_comment(person, comment_id))
    if not is_htmx():
        return go(f"/tickets/{subject.ticket['display_id']}")
    with reading():
        return _shown(_said(subject, entry.comment["id"]), subject)
