"""Lists of tickets, flat or as a tree, with their columns, saved views and exports."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson
from flask import Response, request

from app.accounts import personal
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.pages import project_of
from app.tickets import board_sidebar, list_pages, saved_views, trees
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.list_orders import IN_MENU, NEWEST, SORTS, Sort, groups_of
from app.tickets.list_pages import MAX_COUNT, FoundTickets, Order, Row, Tally, TicketList
from app.tickets.pages import filters, list_requests
from app.tickets.pages.blueprint import pages, user_options, words
from app.tickets.pages.list_requests import ALL, DONE, OPEN, ListRequest, read_request
from app.web import choices
from app.web.downloads import line, streamed
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render

# The most tickets and trees of a page, and tickets in a batch of an export.
ROWS, TREES, BATCH = 50, 25, 500
FIELDS = (
    "display_id",
    "type",
    "title",
    "state",
    "state_category",
    "priority",
    "assignee",
    "labels",
    "parent",
    "due_date",
    "rank",
    "created_at",
    "updated_at",
    "last_activity_at",
)
TYPES = {"csv": "text/csv", "json": "application/json"}
Address = Callable[..., str]


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """A link in the table's head that sorts by its column."""

    href: str
    # A value of ``aria-sort``.
    direction: str


@dataclass(frozen=True, slots=True)
class GroupHead:
    """The head above the first row of a group; ``mark`` is a row or value that it shares."""

    mark: Any
    size: int


@pages.get("/projects/<key>/tickets")
@pages.get("/tickets", endpoint="tickets_of_all")
def tickets(key: str | None = None) -> Response:
    with reading():
        return _show(visible_by_key(actor(), key) if key else None)


def _show(project: SeenProject | None) -> Response:
    list_request = read_request(request.args, is_cross_project=project is None)
    path = f"/projects/{project.key}/tickets" if project else "/tickets"
    cursor = request.args.get("cursor") or None
    backwards = request.args.get("to") == "newer" and cursor is not None

    def address(**more: str) -> str:
        return filters.address(path, list_request.chosen, **{**list_request.more, **more})

    of_projects = list_requests.states_of(project)
    ticket_list = list_requests.ticket_list(list_request, project, of_projects)
    counted = list_pages.tally(ticket_list)
    order = list_request.order
    allowed = (
        order if list_request.is_tree else list_pages.allowed_order(order, ticket_list, counted)
    )
    try:
        branches, found = _find(
            list_request, ticket_list, allowed, counted, cursor, backwards=backwards
        )
    except InvalidField:
        # The cursor is malformed or of another order, so start with the first page.
        return go(address())
    shown: dict[str, Any] = {
        "branches": branches,
        "tickets": found.rows,
        "group_heads": _group_heads(found, allowed.grouping, is_continued=_is_more()),
        "grouping": list_request.order.grouping,
        "is_tree": list_request.is_tree,
        "columns": choices.COLUMNS,
        "newer_url": address(cursor=found.before, to="newer") if found.before else "",
        "older_url": address(cursor=found.after) if found.after else "",
        "first_url": address() if cursor else "",
    }
    if _is_more():
        return html(render("tickets/_rows.html", project=project, **shown))
    users = board_sidebar.all_users()
    state_options = [(one.id, one.name) for one in of_projects] if project else []
    menu = filters.menu(
        path, list_request.chosen, list_request.more, project, users, states=state_options
    )
    return page(
        "tickets/list.html",
        block="results",
        **menu,
        **shown,
        label_options=[(one["id"], one["name"]) for one in menu["labels"]] if project else [],
        hidden_columns=choices.hidden_columns(),
        filtered=bool(list_request.chosen),
        counted=MAX_COUNT,
        counts=_counts(path, list_request, counted),
        everything_url=filters.address(
            path, list_request.stateless, **{**list_request.more, "show": ALL}
        ),
        has_others=_has_others(list_request, counted),
        shows_done=list_request.show == DONE,
        is_too_long=allowed != order,
        heads=_heads(ticket_list, list_request, allowed.sort, address),
        orders=_orders(
            order.sort, is_tree=list_request.is_tree, is_cross_project=ticket_list.is_cross_project
        ),
        order=order.sort.name,
        groupings=[]
        if list_request.is_tree
        else list(groups_of(is_cross_project=ticket_list.is_cross_project)),
        places=state_options or words(sorted(CATEGORIES)),
        people=user_options(users, project.id if project else None),
        priorities=words(PRIORITIES),
        kept=[
            (name, value)
            for name, value in list_request.more.items()
            if value and name in ("show", "view")
        ],
        current=address(cursor=cursor or "", to="newer" if backwards else ""),
        tree_url=address(view="" if list_request.is_tree else "tree", group=""),
        out_of_band=is_htmx(),
    )


def _is_more() -> bool:
    """Whether "Load more" sent this request, which needs only the rows."""
    return is_htmx() and request.headers.get("HX-Target", "").startswith("more-")


def _find(
    list_request: ListRequest,
    ticket_list: TicketList,
    order: Order,
    counted: Tally,
    cursor: str | None,
    *,
    backwards: bool,
) -> tuple[list[trees.Branch], FoundTickets]:
    """The branches of a tree, and the page."""
    if list_request.is_tree and ticket_list.project_id:
        conditions = ticket_list.all_conditions[1:]
        return trees.find_trees(
            ticket_list.project_id,
            conditions,
            order,
            limit=TREES,
            cursor=cursor,
            backwards=backwards,
        )
    found = list_pages.find(
        ticket_list, order, counted.candidates, limit=ROWS, cursor=cursor, backwards=backwards
    )
    return [], found


def _counts(path: str, list_request: ListRequest, counted: Tally) -> list[dict[str, Any]]:
    """The links beside the title: open and done tickets, with their numbers, and all of them."""
    shown = None if list_request.has_state else list_request.show
    return [
        {
            "text": text,
            "count": count,
            "href": filters.address(
                path, list_request.stateless, **{**list_request.more, "show": show}
            ),
            "is_current": show == shown,
        }
        for text, count, show in (
            ("open", counted.open, OPEN),
            ("done", counted.done, DONE),
            ("all", None, ALL),
        )
    ]


def _has_others(list_request: ListRequest, counted: Tally) -> bool:
    """Whether tickets exist, although none in the states that the list shows."""
    return list_request.show != ALL and any(
        count is None or count for count in (counted.open, counted.done)
    )


def _heads(
    ticket_list: TicketList, list_request: ListRequest, current: Sort, address: Address
) -> dict[str, ColumnHead]:
    """The heads of sortable columns; that of the current order links to the reverse order."""
    heads: dict[str, ColumnHead] = {}
    for sort in SORTS.values():
        if (ticket_list.is_cross_project and not sort.is_for_all) or (
            list_request.is_tree and not sort.is_indexed
        ):
            continue
        if sort.column == current.column:
            direction = "ascending" if current.key.is_ascending else "descending"
            if sort is not current:
                heads[sort.column] = ColumnHead(_sorted_by(sort, address), direction)
        elif sort.column not in heads:
            heads[sort.column] = ColumnHead(_sorted_by(sort, address), "none")
    return heads


def _sorted_by(sort: Sort, address: Address) -> str:
    return address(sort="" if sort is NEWEST else sort.name)


def _orders(current: Sort, *, is_tree: bool, is_cross_project: bool) -> list[tuple[str, str]]:
    """The orders of the menu, and the current one."""
    return [
        (sort.name, sort.text)
        for sort in SORTS.values()
        if (sort.name in IN_MENU or sort is current)
        and (sort.is_for_all or not is_cross_project)
        and (sort.is_indexed or not is_tree)
    ]


def _group_heads(found: FoundTickets, grouping: str, *, is_continued: bool) -> dict[str, GroupHead]:
    """By ticket id, the head above it; with ``is_continued``, a group that goes on gets none."""
    heads: dict[str, GroupHead] = {}
    epics = (
        list_pages.epics([key.values[0] for key in found.groups.values()])
        if (grouping == "epic")
        else {}
    )
    before = found.group_before if is_continued else None
    for row in found.rows if grouping else ():
        key = found.groups[row["id"]]
        if key.values != before:
            mark = epics.get(key.values[0]) if grouping == "epic" else _mark(row, grouping)
            heads[row["id"]] = GroupHead(mark, key.size)
        before = key.values
    return heads


def _mark(row: Row, grouping: str) -> Any:
    if grouping == "label":
        return row["labels"][0] if row["labels"] else None
    return row[grouping]


@pages.get("/<display_id:reference>")
def short_address(reference: str) -> Response:
    """``/OPS-12`` redirects to the ticket."""
    return go(f"/tickets/{reference}")


@pages.get("/projects/<key>/tickets.<kind>")
@pages.get("/tickets.<kind>", endpoint="export_all")
def export(kind: str, key: str | None = None) -> Response:
    project = project_of(key) if key else None
    require(Lane.LONG)
    if kind not in TYPES:
        raise NotFound("route", request.path)
    batches = _batches(read_request(request.args, is_cross_project=project is None), project)
    written = _csv(batches) if kind == "csv" else _json(batches)
    # The first batch is read before the response starts, so that its errors show an error page.
    pieces = chain([next(written)], written)
    name = f"{project.key.lower() if project else 'all'}-tickets.{kind}"
    return streamed(pieces, TYPES[kind], name)


def _batches(
    list_request: ListRequest, project: SeenProject | None
) -> Iterator[list[dict[str, Any]]]:
    """The tickets in batches; the first may be empty."""
    cursor: str | None = None
    with reading():
        ticket_list = list_requests.list_of(list_request, project)
        counted = list_pages.tally(ticket_list)
    order = list_pages.allowed_order(list_request.order, ticket_list, counted)
    while True:
        with reading():
            batch = list_pages.find(
                ticket_list, order, counted.candidates, limit=BATCH, cursor=cursor
            )
        yield [_flat(row) for row in batch.rows]
        cursor = batch.after
        if cursor is None:
            return


def _flat(row: Row) -> dict[str, Any]:
    state, assignee = row["state"], row["assignee"]
    return {
        **{
            name: row[name]
            for name in ("display_id", "type", "title", "priority", "due_date", "rank")
        },
        "state": state["name"],
        "state_category": state["category"],
        "assignee": assignee["username"] if assignee else None,
        "labels": [label["name"] for label in row["labels"]],
        "parent": row["parent"]["display_id"] if row["parent"] else None,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "last_activity_at": row["last_activity_at"],
    }


def _json(batches: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    written, between = [b"["], b"\n"
    for tickets in batches:
        for ticket in tickets:
            written += [between, orjson.dumps({name: ticket[name] for name in FIELDS})]
            between = b",\n"
        yield b"".join(written)
        written.clear()
    yield b"\n]\n"


def _csv(batches: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    head = line(FIELDS)
    for tickets in batches:
        written = "".join(line(ticket[name] for name in FIELDS) for ticket in tickets)
        yield (head + written).encode()
        head = ""


@pages.post("/views")
def save_view() -> Response:
    key = request.form.get("project")
    project = project_of(key) if key else None
    form = Form(raw=request.form.copy(), shown=frozenset({"name"}))
    saved: list[str] = []

    def work(person: Actor) -> None:
        view = saved_views.save_view(
            person,
            project,
            name=form.value("name"),
            query=form.value("query"),
            is_shared=form.value("shared") == "yes",
        )
        saved[:] = [view.query]

    back = safe_next(form.value("back")).partition("?")[0]
    if submit(form, work):
        return go(f"{back}?{saved[0]}" if saved[0] else back)
    return page("tickets/view.html", project=project, form=form, back=back, status=422)


@pages.post("/views/<view_id>/delete")
def delete_view(view_id: str) -> Response:
    write(lambda person: saved_views.delete_view(person, view_id))
    return go(safe_next(request.form.get("back")))


@pages.post("/views/<view_id>/share")
def share_view(view_id: str) -> Response:
    is_shared = request.form.get("shared") == "yes"
    write(lambda person: saved_views.share_view(person, view_id, is_shared=is_shared))
    return go(safe_next(request.form.get("back")))


@pages.post("/tickets/columns")
def choose_columns() -> Response:
    """Store the hidden columns as a preference and as a cookie, and go back to the list."""
    shown = request.form.getlist("shown")
    hidden = choices.hiding(name for name in choices.COLUMNS if name not in shown)
    preference = {choices.HIDDEN: hidden}
    write(lambda person: personal.choose(person, preference))
    back, query = request.form.get("back", ""), request.form.get("query", "")
    back = safe_next(f"{back}?{query}" if query else back)
    return choices.carry(go(back), preference)
