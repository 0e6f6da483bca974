"""The board of a project and the cross-project board, with their live updates."""

from dataclasses import dataclass
from typing import Any

from flask import Response, request
from markupsafe import Markup

from app.accounts.builders import UserSummary
from app.database.session import reading
from app.projects import labels as project_labels
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import board as boards
from app.tickets import board_sidebar, changes
from app.tickets.board import Shape
from app.tickets.cards import GROUPINGS, BoardOrder
from app.tickets.messages import MANUAL_ORDER
from app.tickets.pages import board_cache, filters, messages
from app.tickets.pages.blueprint import pages
from app.tickets.pages.board_cache import card_html
from app.tickets.pages.filters import Chosen
from app.tickets.read import LabelSummary
from app.web.guard import actor
from app.web.render import cached_page, is_htmx, page, partial, render

# With more changes than this, the page offers to reload.
MAX_CHANGES = 30
ORDERS = (
    (BoardOrder.RANK, MANUAL_ORDER),
    (BoardOrder.PRIORITY, messages.BY_PRIORITY),
    (BoardOrder.DUE, messages.BY_DUE_DATE),
    (BoardOrder.UPDATED, messages.BY_LAST_UPDATE),
)


@dataclass(frozen=True, slots=True)
class BoardRequest:
    chosen: Chosen
    grouping: str
    all_done: bool
    order: BoardOrder

    def shape(self, project_id: str | None) -> Shape:
        return Shape(
            project_id,
            grouping=self.grouping,
            with_epics="epic" in self.chosen.get("ticket_type", []),
            all_done=self.all_done,
            order=self.order,
        )

    @property
    def more(self) -> dict[str, str]:
        """The other parameters of the address."""
        return {
            "group": self.grouping,
            "done": "all" if self.all_done else "",
            "sort": "" if self.order is BoardOrder.RANK else self.order,
        }


def read_request(*, is_cross_project: bool) -> BoardRequest:
    """Parse the address of this request. Boards do not filter by state, which makes the columns."""
    chosen = filters.chosen_in(request.args)
    for name in ("state_id", "state_category", "label_id" if is_cross_project else "project_id"):
        chosen.pop(name, None)
    grouping = request.args.get("group", "")
    # A label belongs to one project, so labels cannot group the tickets of all projects.
    is_known = grouping in GROUPINGS and not (is_cross_project and grouping == "label")
    return BoardRequest(
        chosen,
        grouping if is_known else "",
        request.args.get("done") == "all",
        BoardOrder.of(request.args),
    )


def label_summaries(project_id: str) -> list[LabelSummary]:
    return [
        {"id": label.id, "name": label.name, "color": label.color}
        for label in project_labels.by_name(project_id)
    ]


@pages.get("/projects/<key>/board")
@pages.get("/board", endpoint="board_of_all")
def board(key: str | None = None) -> Response:
    with reading():
        return _show(visible_by_key(actor(), key) if key else None)


def _show(project: SeenProject | None) -> Response:
    board = read_request(is_cross_project=project is None)
    path = f"/projects/{project.key}/board" if project else "/board"
    # There are too many combinations of filters to cache filtered boards.
    cached = None
    if not board.chosen:
        cached = board_cache.find(board.shape(project.id if project else None))
    token = cached.token if cached else changes.current_token()
    users = board_sidebar.all_users()
    context = filters.menu(path, board.chosen, board.more, project, users) | {
        "token": token,
        "more": board.more,
        "grouping": board.grouping,
        "order": board.order,
        "orders": ORDERS,
        "groupings": [name for name in GROUPINGS if project or name != "label"],
        "live": filters.address(f"{path}/live", board.chosen, **board.more),
    }

    def render_columns() -> Markup:
        people = board_sidebar.summaries(users)
        return _columns(project, board, people, context["labels"])

    if cached is None:
        columns = render_columns()
        return page("tickets/board.html", block="results", **context, columns=columns)
    columns = cached.columns or board_cache.fill(cached, render_columns)
    if is_htmx():
        return page("tickets/board.html", block="results", **context, columns=columns)
    return cached_page("tickets/board.html", context, lambda: {**context, "columns": columns})


def _columns(
    project: SeenProject | None,
    board: BoardRequest,
    people: dict[str, UserSummary],
    labels: list[LabelSummary],
) -> Markup:
    """The columns with their cards.

    Without filters, they depend on nothing of the reader but what the key of ``board_cache`` has.
    """
    shape = board.shape(project.id if project else None)
    columns = boards.columns(shape, filters.conditions(board.chosen), people)
    text = render(
        "tickets/_board.html",
        project=project,
        columns=columns,
        max_cards=boards.CARDS_PER_COLUMN,
        card_html=card_html,
        swimlanes=boards.swimlanes(shape, columns, people, labels) if board.grouping else (),
        filtered=bool(board.chosen),
        more=board.more,
        grouping=board.grouping,
        list_address=_to_list(project, board.chosen),
    )
    return Markup(text)  # noqa: S704 - a template made it


def _to_list(project: SeenProject | None, chosen: Chosen) -> Any:
    """A function that returns the address of the list of a column with the same filters."""
    path = f"/projects/{project.key}/tickets" if project else "/tickets"
    name = "state_id" if project else "state_category"
    return lambda column: filters.address(path, {**chosen, name: [column.id]})


@pages.get("/projects/<key>/board/live")
@pages.get("/board/live", endpoint="board_of_all_live")
def board_live(key: str | None = None) -> Response:
    """The cards that changed after the token ``since``; 204 if none did."""
    with reading():
        news = changes.news(actor(), key, request.args.get("since", ""))
        if news is None:
            return Response(status=204)
        board = read_request(is_cross_project=key is None)
        count = len(news.ticket_ids)
        if news.is_frame or news.is_cut or count > MAX_CHANGES:
            pill = "" if news.is_frame else f"{count}{'+' if news.is_cut else ''}"
            return partial("tickets/_live.html", token=news.token, pill=pill)
        shape = board.shape(visible_by_key(actor(), key).id if key else None)
        people = board_sidebar.summaries(board_sidebar.all_users())
        conditions = filters.conditions(board.chosen)
        cards = boards.cards_among(shape, conditions, sorted(news.ticket_ids), people)
        shown = {card["id"] for card in cards}
        return partial(
            "tickets/_live.html",
            token=news.token,
            cards=cards,
            card_html=card_html,
            gone=sorted(news.ticket_ids - shown),
            columns=boards.empty_columns(shape),
        )
