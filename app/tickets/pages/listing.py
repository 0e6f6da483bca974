"""The list of a project's tickets, and addresses that lead to one ticket."""

from flask import Response, request

from app.core.db import reading
from app.core.errors import InvalidField
from app.projects import states
from app.projects.loaders import visible_by_key
from app.tickets import queries
from app.tickets.board import all_users
from app.tickets.models import Ticket
from app.tickets.pages import filters
from app.tickets.pages.blueprint import pages, user_options
from app.tickets.pages.board import label_summaries
from app.web.guard import actor
from app.web.render import go, page

ROWS = 50


@pages.get("/projects/<key>/tickets")
def tickets(key: str) -> Response:
    """Show the project's tickets, newest first, a page at a time."""
    chosen = filters.chosen_in(request.args)
    cursor = request.args.get("cursor") or None
    path = f"/projects/{key}/tickets"
    with reading():
        project = visible_by_key(actor(), key)
        labels = label_summaries(project.id)
        users = all_users()
        ordered = states.ordered(project.id)
        conditions = [
            Ticket.project_id == project.id,
            *filters.conditions(chosen, actor()),
        ]
        try:
            found = queries.ticket_page(
                conditions, {}, limit=ROWS, cursor=cursor, include_deleted=False
            )
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(filters.address(path, chosen))
    return page(
        "tickets/list.html",
        block="results",
        project=project,
        tickets=found.data,
        labels=labels,
        groups=(
            groups := filters.offered(
                chosen,
                users=user_options(users, project.id)[1:],
                labels=[(one["id"], one["name"]) for one in labels],
                states=[(one.id, one.name) for one in ordered],
            )
        ),
        chosen=chosen,
        chips=filters.chips(path, chosen, groups),
        filtered=bool(chosen),
        action=path,
        results="results",
        first_url=filters.address(path, chosen) if cursor else "",
        next_url=filters.address(path, chosen, cursor=found.next_cursor)
        if found.next_cursor
        else "",
    )


@pages.get("/<display_id:reference>")
def short_address(reference: str) -> Response:
    """``/OPS-12`` leads to the ticket."""
    return go(f"/tickets/{reference}")
