"""Lists of tickets, flat or as a tree, with their columns, saved views and exports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import ColumnElement
from werkzeug.datastructures import MultiDict

from app.accounts import personal
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.projects import states
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.pages import project_of
from app.tickets import board_sidebar, listing, saved_views
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.listing import OF_ALL_PROJECTS, SORTS, Row, Sort
from app.tickets.models import Ticket
from app.tickets.pages import filters
from app.tickets.pages.blueprint import pages, user_options, words
from app.tickets.pages.filters import Chosen
from app.tickets.read import in_live_projects
from app.web import choices
from app.web.downloads import line, streamed
from app.web.forms import Form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render

# Tickets and trees of a page, and tickets of a batch of an export.
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
    "created_at",
    "updated_at",
)
TYPES = {"csv": "text/csv", "json": "application/json"}
# The two orders of a column with a sorting head, the default first.
HEADS = {"Created": ("created", "oldest"), "Updated": ("updated", "stale")}


@dataclass(frozen=True, slots=True)
class ListRequest:
    chosen: Chosen
    sort: Sort
    is_tree: bool

    @property
    def more(self) -> dict[str, str]:
        """The other parameters of the address, empty for defaults."""
        return {
            "view": "tree" if self.is_tree else "",
            "sort": "" if self.sort.name == "created" else self.sort.name,
        }


def read_request(query: MultiDict[str, str], *, everywhere: bool) -> ListRequest:
    chosen = filters.chosen_in(query)
    for name in ("state_id", "label_id") if everywhere else ("project_id", "state_category"):
        chosen.pop(name, None)
    name = query.get("sort", "")
    is_known = name in SORTS and not (everywhere and name not in OF_ALL_PROJECTS)
    is_tree = query.get("view") == "tree" and not everywhere
    return ListRequest(chosen, SORTS[name if is_known else "created"], is_tree)


def conditions_of(
    list_request: ListRequest, project: SeenProject | None
) -> list[ColumnElement[bool]]:
    where = Ticket.project_id == project.id if project else in_live_projects()
    return [where, *filters.conditions(list_request.chosen)]


@pages.get("/projects/<key>/tickets")
@pages.get("/tickets", endpoint="tickets_of_all")
def tickets(key: str | None = None) -> Response:
    with reading():
        return _show(visible_by_key(actor(), key) if key else None)


def _show(project: SeenProject | None) -> Response:
    list_request = read_request(request.args, everywhere=project is None)
    path = f"/projects/{project.key}/tickets" if project else "/tickets"
    cursor = request.args.get("cursor") or None
    backwards = request.args.get("to") == "newer" and cursor is not None
    try:
        branches, found = _find(list_request, project, cursor, backwards=backwards)
    except InvalidField:
        # The cursor is damaged or of another order, so start with the first page.
        return go(filters.address(path, list_request.chosen, **list_request.more))

    def address(**more: str) -> str:
        return filters.address(path, list_request.chosen, **{**list_request.more, **more})

    shown: dict[str, Any] = {
        "branches": branches,
        "tickets": found.rows,
        "is_tree": list_request.is_tree,
        "sort_column": list_request.sort.column.key,
        "newer_url": address(cursor=found.before, to="newer") if found.before else "",
        "older_url": address(cursor=found.after) if found.after else "",
        "first_url": address() if cursor else "",
    }
    # "Load more" needs only the rows.
    if is_htmx() and request.headers.get("HX-Target", "").startswith("more-"):
        return html(render("tickets/_rows.html", project=project, **shown))
    users = board_sidebar.all_users()
    state_options = [(one.id, one.name) for one in states.ordered(project.id)] if project else []
    menu = filters.menu(
        path, list_request.chosen, list_request.more, project, users, states=state_options
    )
    return page(
        "tickets/list.html",
        block="results",
        **menu,
        **shown,
        label_options=[(one["id"], one["name"]) for one in menu["labels"]] if project else [],
        columns=choices.COLUMNS,
        hidden_columns=choices.hidden_columns(),
        filtered=bool(list_request.chosen),
        sort=list_request.sort,
        heads=_heads(project, list_request, address),
        places=state_options or words(sorted(CATEGORIES)),
        people=user_options(users, project.id if project else None),
        priorities=words(PRIORITIES),
        kept=[(name, value) for name, value in list_request.more.items() if value],
        current=address(cursor=cursor or "", to="newer" if backwards else ""),
        tree_url=address(view="" if list_request.is_tree else "tree"),
    )


def _find(
    list_request: ListRequest, project: SeenProject | None, cursor: str | None, *, backwards: bool
) -> tuple[list[listing.Branch], listing.FoundTickets]:
    """The branches of a tree, and the page."""
    sort = list_request.sort
    if list_request.is_tree and project:
        conditions = filters.conditions(list_request.chosen)
        return listing.find_trees(
            project.id, conditions, sort, limit=TREES, cursor=cursor, backwards=backwards
        )
    conditions = conditions_of(list_request, project)
    return [], listing.find(conditions, sort, limit=ROWS, cursor=cursor, backwards=backwards)


def _heads(project: SeenProject | None, list_request: ListRequest, address: Any) -> dict[str, Any]:
    """The link and ``aria-sort`` of each head that sorts."""
    heads = {}
    for label, (first, second) in HEADS.items():
        if project is None and first not in OF_ALL_PROJECTS:
            continue
        current = list_request.sort.name
        target = second if current == first else first
        order = "none"
        if current in (first, second):
            order = "ascending" if list_request.sort.ascending else "descending"
        heads[label] = {"href": address(sort="" if target == "created" else target), "order": order}
    return heads


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
    batches = _batches(read_request(request.args, everywhere=project is None), project)
    written = _csv(batches) if kind == "csv" else _json(batches)
    # The first batch is read before the answer starts, so that its errors show an error page.
    pieces = chain([next(written)], written)
    name = f"{project.key.lower() if project else 'all'}-tickets.{kind}"
    return streamed(pieces, TYPES[kind], name)


def _batches(
    list_request: ListRequest, project: SeenProject | None
) -> Iterator[list[dict[str, Any]]]:
    """The tickets in batches; the first may be empty."""
    cursor: str | None = None
    while True:
        with reading():
            batch = listing.find(
                conditions_of(list_request, project), list_request.sort, limit=BATCH, cursor=cursor
            )
        yield [_flat(row) for row in batch.rows]
        cursor = batch.after
        if cursor is None:
            return


def _flat(row: Row) -> dict[str, Any]:
    state, assignee = row["state"], row["assignee"]
    return {
        **{name: row[name] for name in ("display_id", "type", "title", "priority", "due_date")},
        "state": state["name"],
        "state_category": state["category"],
        "assignee": assignee["username"] if assignee else None,
        "labels": [label["name"] for label in row["labels"]],
        "parent": row["parent"]["display_id"] if row["parent"] else None,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
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

    def work(present: Actor) -> None:
        view = saved_views.save_view(
            present,
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
    write(lambda present: saved_views.delete_view(present, view_id))
    return go(safe_next(request.form.get("back")))


@pages.post("/views/<view_id>/share")
def share_view(view_id: str) -> Response:
    is_shared = request.form.get("shared") == "yes"
    write(lambda present: saved_views.share_view(present, view_id, is_shared=is_shared))
    return go(safe_next(request.form.get("back")))


@pages.post("/tickets/columns")
def choose_columns() -> Response:
    """Store the hidden columns as a preference and as a cookie, and go back to the list."""
    shown = request.form.getlist("shown")
    hidden = choices.hiding(name for name in choices.COLUMNS if name not in shown)
    preference = {choices.HIDDEN: hidden}
    write(lambda present: personal.choose(present, preference))
    back, query = request.form.get("back", ""), request.form.get("query", "")
    back = safe_next(f"{back}?{query}" if query else back)
    return choices.carry(go(back), preference)
