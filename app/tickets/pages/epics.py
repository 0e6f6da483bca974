"""The epics of a project: a tree with progress, a timeline of due dates, the flow of its states."""

from flask import Response, request

from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.tickets import cumulative_flow, epics, page_queries
from app.tickets.pages import charts
from app.tickets.pages.blueprint import pages
from app.web.filters import today
from app.web.guard import actor
from app.web.render import page

SPANS = {"30": 30, "90": 90}
# Rows of the table that says what the chart shows.
ROWS = 10


@pages.get("/projects/<key>/epics")
def show_epics(key: str) -> Response:
    """Show the project's epics and how its work flows."""
    days = SPANS.get(request.args.get("days", ""), 30)
    with reading():
        project = visible_by_key(actor(), key)
        found, has_more = epics.of_project(project.id)
        # The first one stands open; the others ask for theirs when they are opened.
        first = page_queries.children(found[0].id) if found else []
        flowed = cumulative_flow.flow(project.id, days)
    step = max(1, -(-len(flowed.days) // ROWS))
    return page(
        "tickets/epics.html",
        project=project,
        epics=found,
        first=first,
        has_more=has_more,
        timeline=charts.timeline(found, today()),
        chart=charts.flow_chart(flowed) if any(flowed.totals) else None,
        flow=flowed,
        at=list(range(len(flowed.days)))[::-step],
        days=days,
        spans=list(SPANS.values()),
        size=charts,
    )


@pages.get("/tickets/<reference>/parts")
def show_parts(reference: str) -> Response:
    """What lies below an epic or a story, as a branch of the tree."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        below = page_queries.children(subject.ticket["id"])
    return page(
        "tickets/parts.html",
        block="parts",
        project=subject.project,
        ticket=subject.ticket,
        children=below,
    )
