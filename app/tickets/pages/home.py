"""My work: what is assigned to me and not done."""

from flask import Response

from app.core.db import reading
from app.projects import service as projects
from app.projects.models import StateCategory, WorkflowState
from app.tickets import queries
from app.tickets.models import Ticket
from app.tickets.pages.blueprint import pages
from app.web.guard import actor
from app.web.render import page

ROWS = 100
PROJECTS = 24


@pages.get("/")
def home() -> Response:
    """Show my open tickets, and the way to every project."""
    with reading():
        mine = queries.ticket_page(
            [
                queries.in_live_projects(),
                Ticket.assignee_user_id == actor().id,
                WorkflowState.category != StateCategory.DONE.value,
            ],
            {},
            limit=ROWS,
            cursor=None,
            include_deleted=False,
        )
        found = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
    return page(
        "tickets/home.html",
        tickets=mine.data,
        more=mine.next_cursor is not None,
        projects=found,
    )
