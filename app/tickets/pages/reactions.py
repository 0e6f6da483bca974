"""Reactions to comments on the ticket page."""

from collections.abc import Iterable

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.tickets import loaders, reactions, stream_queries
from app.tickets.pages.blueprint import pages
from app.web.guard import actor, write
from app.web.render import go, html, is_htmx, render


@pages.app_template_global("reaction_choices")
def choices() -> Iterable[tuple[str, str]]:
    """The name and the emoji of each reaction."""
    return reactions.EMOJI.items()


@pages.post("/comments/<comment_id>/reactions")
def react(comment_id: str) -> Response:
    """Add a reaction of the reader's, or remove it, as the pressed button says."""
    # Not "remove": a field of that name would hide a method of the form.
    removed = request.form.get("take_back", "")
    pressed = removed or request.form.get("react", "")

    def work(person: Actor) -> None:
        verb = reactions.remove_reaction if removed else reactions.add_reaction
        verb(person, comment_id, pressed)

    write(work)
    with reading():
        comment, ticket = loaders.visible_comment(actor(), comment_id)
        if not is_htmx():
            return go(f"/tickets/{ticket.display_id}#comment-{comment.id}")
        (shown,) = stream_queries.comments_of(ticket.id, among=[comment.id])
    return html(render("tickets/_reactions.html", comment=shown, pressed=pressed))
