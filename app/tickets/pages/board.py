"""The board of a project."""

from flask import Response, request

from app.core.db import reading
from app.projects import labels as project_labels
from app.projects.loaders import visible_by_key
from app.tickets import board as boards
from app.tickets.builders import LabelSummary
from app.tickets.pages import filters
from app.tickets.pages.blueprint import around, pages, user_options
from app.web.guard import actor
from app.web.render import page


def label_summaries(project_id: str) -> list[LabelSummary]:
    """The project's labels by name."""
    return [
        {"id": one.id, "name": one.name, "color": one.color}
        for one in project_labels.by_name(project_id)
    ]


@pages.get("/projects/<key>/board")
def board(key: str) -> Response:
    """Show the project's tickets in columns by state."""
    chosen = filters.chosen_in(request.args)
    chosen.pop("state_id", None)
    with reading():
        project = visible_by_key(actor(), key)
        labels = label_summaries(project.id)
        known, users = around(labels)
        columns = boards.columns(
            project.id,
            filters.conditions(chosen, actor()),
            known,
            with_epics="epic" in chosen.get("ticket_type", []),
            all_done=request.args.get("done") == "all",
        )
    return page(
        "tickets/board.html",
        block="board",
        project=project,
        columns=columns,
        labels=labels,
        filters=filters.fields(
            chosen,
            users=user_options(users, project.id)[1:],
            labels=[(one["id"], one["name"]) for one in labels],
        ),
        filtered=bool(chosen),
        action=f"/projects/{project.key}/board",
        results="board",
    )
