"""Comments on the ticket page: writing, editing one's own, deleting."""

from typing import Any

from flask import Response

from app.core.actor import Actor
from app.core.db import reading
from app.core.errors import Forbidden
from app.tickets import comments, loaders, page_queries
from app.tickets.pages import show
from app.tickets.pages.blueprint import pages
from app.tickets.pages.texts import lay_out
from app.tickets.schemas import CommentCreate, CommentPatch
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, oob, page, render, render_block


@pages.post("/tickets/<reference>/comments")
def add_comment(reference: str) -> Response:
    """Add a comment; the thread gets it, and the form is empty again."""
    form = load_form(CommentCreate)

    def work(present: Actor) -> str:
        made = comments.create_comment(present, reference, body=form.data["body"])
        return f"/tickets/{reference}#comment-{made.id}"

    target = create(form, work)
    if not is_htmx():
        return go(target) if target else show.show_ticket(reference, comment_form=form, status=422)
    with reading():
        subject = page_queries.subject(actor(), reference)
        shown = render_block(
            "tickets/show.html",
            "composer",
            ticket=subject.ticket,
            comment_form=None if target else form,
        )
        if target:
            comment_id = target.partition("#comment-")[2]
            rows = page_queries.comments_of(subject.ticket["id"], comment_id)
            found = lay_out(subject, rows, only_comments=True)
            shown += oob(_comment(found[0]), "#thread")
    return html(shown, 200 if target else 422)


def _comment(comment: dict[str, Any]) -> str:
    return render("tickets/_comment.html", comment=comment)


def _find(comment_id: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """The comment, its ticket and its project; raises NotFound or Gone."""
    with reading():
        found, ticket = loaders.visible_comment(actor(), comment_id)
        subject = page_queries.subject(actor(), ticket.display_id)
        rows = page_queries.comments_of(ticket.id, found.id)
        (shown,) = lay_out(subject, rows, only_comments=True)
    return shown, subject.ticket, subject.project


@pages.get("/comments/<comment_id>")
def show_comment(comment_id: str) -> Response:
    """The comment where htmx asks; else its place on the page of its ticket."""
    comment, ticket, _ = _find(comment_id)
    if is_htmx():
        return html(_comment(comment))
    return go(f"/tickets/{ticket['display_id']}#comment-{comment['id']}")


def _editor(comment_id: str, form: Form) -> Response:
    comment, ticket, project = _find(comment_id)
    if comment["author_user_id"] != actor().id:
        raise Forbidden("not_author")
    return page(
        "tickets/comment_edit.html",
        block="sheet",
        comment=comment,
        ticket=ticket,
        project=project,
        form=form,
        status=422 if form.errors else 200,
    )


@pages.get("/comments/<comment_id>/edit")
def edit_comment(comment_id: str) -> Response:
    """Ask for the new text of one's own comment."""
    return _editor(comment_id, Form())


@pages.post("/comments/<comment_id>/edit")
def save_comment(comment_id: str) -> Response:
    """Change one's own comment."""
    form = load_form(CommentPatch, keep_empty=True)
    if submit(form, lambda present: comments.update_comment(present, comment_id, **form.data)):
        return show_comment(comment_id)
    return _editor(comment_id, form)


@pages.get("/comments/<comment_id>/delete")
def confirm_delete_comment(comment_id: str) -> Response:
    """Ask before deleting."""
    comment, ticket, project = _find(comment_id)
    return page(
        "tickets/comment_delete.html",
        block="sheet",
        comment=comment,
        ticket=ticket,
        project=project,
    )


@pages.post("/comments/<comment_id>/delete")
def delete_comment(comment_id: str) -> Response:
    """Delete a comment; a line stays in its place."""
    comment, ticket, _ = _find(comment_id)
    submit(Form(), lambda present: comments.delete_comment(present, comment_id))
    if not is_htmx():
        return go(f"/tickets/{ticket['display_id']}")
    return html(_comment({**comment, "deleted_at": comment["updated_at"]}))
