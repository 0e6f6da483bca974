"""Deleting a ticket, and bringing it back.

Only people bring back what was deleted, here and by the command; REST and the tools of bots have no
such operation.
"""

from flask import Response

from app.database.session import reading
from app.tickets import page_queries, restoring, service
from app.tickets.pages.blueprint import pages
from app.web.guard import actor, write
from app.web.render import go, page


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
    write(lambda present: restoring.restore_ticket(present, reference))
    return go(f"/tickets/{reference}")
