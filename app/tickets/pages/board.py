"""The board of a project, and the one of all projects."""

from dataclasses import dataclass
from typing import Any

from flask import Response, request
from markupsafe import Markup

from app.accounts.builders import UserSummary
from app.core.actor import Actor
from app.database.session import reading
from app.projects import labels as project_labels
from app.projects import service as projects
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import board as boards
from app.tickets import board_sidebar, changes
from app.tickets.board import Shape
from app.tickets.cards import GROUPINGS
from app.tickets.pages import filters, kept_boards
from app.tickets.pages.blueprint import pages, user_options
from app.tickets.pages.filters import Chosen
from app.tickets.pages.kept_boards import card_html
from app.tickets.read import LabelSummary
from app.web.guard import actor
from app.web.render import cached_page, html, is_htmx, page, render

# With more changes than this, the reader decides when to see them.
MOST_CHANGES = 30
PROJECTS = 200


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """What the address of a board asks for."""

    chosen: Chosen
    grouping: str
    all_done: bool

    def shape(self, project_id: str | None) -> Shape:
        """The board that it asks for."""
        return Shape(
            project_id,
            grouping=self.grouping,
            with_epics="epic" in self.chosen.get("ticket_type", []),
            all_done=self.all_done,
        )

    @property
    def more(self) -> dict[str, str]:
        """What the address holds besides the filters."""
        return {"group": self.grouping, "done": "all" if self.all_done else ""}


def read_request(*, everywhere: bool) -> BoardRequest:
    """What this request asks for; columns are no filters of a board."""
    chosen = filters.chosen_in(request.args)
    for name in ("state_id", "state_category", "label_id" if everywhere else "project_id"):
        chosen.pop(name, None)
    grouping = request.args.get("group", "")
    # Labels belong to a project each, and cannot group the tickets of all.
    known = grouping in GROUPINGS and not (everywhere and grouping == "label")
    return BoardRequest(chosen, grouping if known else "", request.args.get("done") == "all")


def label_summaries(project_id: str) -> list[LabelSummary]:
    """The project's labels by name."""
    return [
        {"id": one.id, "name": one.name, "color": one.color}
        for one in project_labels.by_name(project_id)
    ]


@pages.get("/projects/<key>/board")
def board(key: str) -> Response:
    """Show the project's tickets in columns by state."""
    with reading():
        return _show(visible_by_key(actor(), key))


@pages.get("/board")
def board_of_all() -> Response:
    """Show the tickets of all projects in columns by category."""
    with reading():
        return _show(None)


def _show(project: SeenProject | None) -> Response:
    wanted = read_request(everywhere=project is None)
    shape = wanted.shape(project.id if project else None)
    path = f"/projects/{project.key}/board" if project else "/board"
    token = changes.first_token()
    # Boards that are filtered are too many to keep.
    kept = None if wanted.chosen else kept_boards.find(shape)
    around = board_sidebar.board_sidebar(shape.project_id, actor().id)
    users = board_sidebar.all_users()
    groups = filters.offered(
        wanted.chosen,
        users=user_options(users, shape.project_id)[1:],
        labels=[(one["id"], one["name"]) for one in around.labels] if project else (),
        projects=() if project else _projects(actor()),
    )
    address = filters.address(path, wanted.chosen, **wanted.more)

    context: dict[str, Any] = {
        "project": project,
        "labels": around.labels,
        "views": around.views,
        "groups": groups,
        "chips": filters.chips(path, wanted.chosen, groups, **wanted.more),
        "chosen": wanted.chosen,
        "more": wanted.more,
        "grouping": wanted.grouping,
        "groupings": [one for one in GROUPINGS if project or one != "label"],
        "action": path,
        "address": address,
        "query": address.partition("?")[2],
        "live": filters.address(f"{path}/live", wanted.chosen, **wanted.more),
    }
    if kept is None:
        columns = _columns(project, wanted, board_sidebar.summaries(users), around.labels)
        return page("tickets/board.html", block="results", **context, token=token, columns=columns)
    context["token"] = kept.token
    columns = kept.columns or kept_boards.keep(
        kept, lambda: _columns(project, wanted, board_sidebar.summaries(users), around.labels)
    )
    if is_htmx():
        return page("tickets/board.html", block="results", **context, columns=columns)
    return cached_page("tickets/board.html", context, lambda: {**context, "columns": columns})


def _columns(
    project: SeenProject | None,
    wanted: BoardRequest,
    people: dict[str, UserSummary],
    labels: list[LabelSummary],
) -> Markup:
    """The columns with their cards; who looks must not matter, but for the filters."""
    shape = wanted.shape(project.id if project else None)
    columns = boards.columns(shape, filters.conditions(wanted.chosen, actor()), people)
    text = render(
        "tickets/_board.html",
        project=project,
        columns=columns,
        card_html=card_html,
        lanes=boards.lanes(shape, columns, people, labels) if wanted.grouping else (),
        filtered=bool(wanted.chosen),
        more=wanted.more,
        grouping=wanted.grouping,
        list_address=_to_list(project, wanted.chosen),
    )
    return Markup(text)  # noqa: S704 - a template made it


def _projects(present: Actor) -> list[tuple[str, str]]:
    found = projects.list_projects(present, limit=PROJECTS, cursor=None).data
    return [(one["id"], one["name"]) for one in found]


def _to_list(project: SeenProject | None, chosen: Chosen) -> Any:
    """Where the rest of a column is listed, with the same filters."""
    path = f"/projects/{project.key}/tickets" if project else "/tickets"
    name = "state_id" if project else "state_category"
    return lambda column: filters.address(path, {**chosen, name: [column.id]})


@pages.get("/projects/<key>/board/live")
def board_live(key: str) -> Response:
    """What changed on the project's board."""
    return _live(key)


@pages.get("/board/live")
def board_of_all_live() -> Response:
    """What changed on the board of all projects."""
    return _live(None)


def _live(key: str | None) -> Response:
    """Cards that look different since ``since``; 204 if none do."""
    with reading():
        news = changes.news(actor(), key, request.args.get("since", ""))
        if news is None:
            return Response(status=204)
        wanted = read_request(everywhere=key is None)
        many = len(news.ticket_ids)
        if news.is_frame or news.is_cut or many > MOST_CHANGES:
            words = f"{many}{'+' if news.is_cut else ''}"
            return _live_answer(news.token, pill="" if news.is_frame else words)
        shape = wanted.shape(visible_by_key(actor(), key).id if key else None)
        people = board_sidebar.summaries(board_sidebar.all_users())
        conditions = filters.conditions(wanted.chosen, actor())
        cards = boards.cards_among(shape, conditions, sorted(news.ticket_ids), people)
        shown = {one["id"] for one in cards}
        return _live_answer(
            news.token,
            cards=cards,
            card_html=card_html,
            gone=sorted(news.ticket_ids - shown),
            columns=boards.empty_columns(shape),
        )


def _live_answer(token: str, **context: Any) -> Response:
    return html(render("tickets/_live.html", token=token, **context))
