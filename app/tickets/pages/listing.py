"""Lists of tickets, flat or as a tree; their columns, saved views, and files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import ColumnElement
from werkzeug.datastructures import MultiDict

from app.accounts import preferences
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.projects import service as projects
from app.projects import states
from app.projects.loaders import SeenProject, visible_by_key
from app.tickets import board_sidebar, listing
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.listing import OF_ALL_PROJECTS, SORTS, Row, Sort
from app.tickets.models import Ticket
from app.tickets.pages import filters
from app.tickets.pages.blueprint import pages, user_options
from app.tickets.pages.filters import Chosen
from app.tickets.read import in_live_projects
from app.web import choices
from app.web.downloads import line, streamed
from app.web.forms import Form, submit
from app.web.guard import actor, is_secure, safe_next, write
from app.web.render import go, html, is_htmx, page, render


@pages.post("/views")
def save_view() -> Response:
    """Save what the reader looks at, and show it."""
    key = request.form.get("project")
    project: SeenProject | None = None
    if key:
        with reading():
            project = visible_by_key(actor(), key)
    form = Form(raw=request.form.copy(), shown=frozenset({"name"}))
    saved: list[str] = []

    def work(present: Actor) -> None:
        view = board_sidebar.save_view(
            present, project, name=form.value("name"), query=form.value("query")
        )
        saved[:] = [view.query]

    back = safe_next(form.value("back")).partition("?")[0]
    if submit(form, work):
        return go(f"{back}?{saved[0]}" if saved[0] else back)
    return page("tickets/view.html", project=project, form=form, back=back, status=422)


@pages.post("/views/<view_id>/delete")
def delete_view(view_id: str) -> Response:
    """Delete one of one's own views."""
    write(lambda present: board_sidebar.delete_view(present, view_id))
    return go(safe_next(request.form.get("back")))


@pages.post("/tickets/columns")
def choose_columns() -> Response:
    """Keep the choice for the person, let this browser carry it, and go back to the list."""
    shown = request.form.getlist("shown")
    kept = {choices.HIDDEN: choices.hiding(one for one in choices.COLUMNS if one not in shown)}
    write(lambda present: preferences.choose(present, kept))
    back, query = request.form.get("back", ""), request.form.get("query", "")
    back = safe_next(f"{back}?{query}" if query else back)
    return choices.carry(go(back), kept, secure=is_secure())


ROWS = 50
TREES = 25
PROJECTS = 200
# How the head of a column sorts: (as it is, the other way round).
HEADS = {"Created": ("created", "oldest"), "Updated": ("updated", "stale")}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What the address of a list asks for."""

    chosen: Chosen
    sort: Sort
    is_tree: bool

    @property
    def more(self) -> dict[str, str]:
        """What the address holds besides the filters, without what goes by itself."""
        return {
            "view": "tree" if self.is_tree else "",
            "sort": "" if self.sort.name == "created" else self.sort.name,
        }


def read_request(query: MultiDict[str, str], *, everywhere: bool) -> ListRequest:
    """What an address asks for."""
    chosen = filters.chosen_in(query)
    for name in ("state_id", "label_id") if everywhere else ("project_id", "state_category"):
        chosen.pop(name, None)
    name = query.get("sort", "")
    known = name in SORTS and not (everywhere and name not in OF_ALL_PROJECTS)
    is_tree = query.get("view") == "tree" and not everywhere
    return ListRequest(chosen, SORTS[name if known else "created"], is_tree)


def conditions_of(wanted: ListRequest, project: SeenProject | None) -> list[ColumnElement[bool]]:
    """Which tickets a list holds."""
    where = Ticket.project_id == project.id if project else in_live_projects()
    return [where, *filters.conditions(wanted.chosen, actor())]


@pages.get("/projects/<key>/tickets")
def tickets(key: str) -> Response:
    """Show the project's tickets, a page at a time."""
    with reading():
        return _show(visible_by_key(actor(), key))


@pages.get("/tickets")
def tickets_of_all() -> Response:
    """Show the tickets of all projects, a page at a time."""
    with reading():
        return _show(None)


def _show(project: SeenProject | None) -> Response:
    wanted = read_request(request.args, everywhere=project is None)
    path = f"/projects/{project.key}/tickets" if project else "/tickets"
    cursor = request.args.get("cursor") or None
    backwards = request.args.get("to") == "newer" and cursor is not None
    try:
        branches, found = _find(wanted, project, cursor, backwards=backwards)
    except InvalidField:
        # A cursor that was cut off on its way, or of another order: start at the top.
        return go(filters.address(path, wanted.chosen, **wanted.more))

    def address(**more: str) -> str:
        return filters.address(path, wanted.chosen, **{**wanted.more, **more})

    shown: dict[str, Any] = {
        "project": project,
        "branches": branches,
        "tickets": found.rows,
        "is_tree": wanted.is_tree,
        "sort_column": wanted.sort.column.key,
        "newer_url": address(cursor=found.before, to="newer") if found.before else "",
        "older_url": address(cursor=found.after) if found.after else "",
        "first_url": address() if cursor else "",
    }
    # "Load more" brings rows alone.
    if is_htmx() and request.headers.get("HX-Target", "").startswith("more-"):
        return html(render("tickets/_rows.html", **shown))
    around = board_sidebar.board_sidebar(project.id if project else None, actor().id)
    users = board_sidebar.all_users()
    people = user_options(users, project.id if project else None)
    ordered = states.ordered(project.id) if project else ()
    labels = [(one["id"], one["name"]) for one in around.labels] if project else []
    groups = filters.offered(
        wanted.chosen,
        users=people[1:],
        labels=labels,
        states=[(one.id, one.name) for one in ordered],
        projects=() if project else _projects(),
        categories=project is None,
    )
    here = address()
    current = address(cursor=cursor or "", to="newer" if backwards else "")
    return page(
        "tickets/list.html",
        block="results",
        **shown,
        labels=around.labels,
        label_options=labels,
        views=around.views,
        columns=choices.COLUMNS,
        hidden_columns=choices.hidden_columns(),
        groups=groups,
        chosen=wanted.chosen,
        chips=filters.chips(path, wanted.chosen, groups, **wanted.more),
        filtered=bool(wanted.chosen),
        sort=wanted.sort,
        heads=_heads(project, wanted, address),
        places=[(one.id, one.name) for one in ordered] or filters.words(sorted(CATEGORIES)),
        people=people,
        priorities=filters.words(PRIORITIES),
        kept=[(name, value) for name, value in wanted.more.items() if value],
        action=path,
        address=here,
        current=current,
        query=here.partition("?")[2],
        tree_url=address(view="" if wanted.is_tree else "tree"),
    )


def _find(
    wanted: ListRequest, project: SeenProject | None, cursor: str | None, *, backwards: bool
) -> tuple[list[listing.Branch], listing.FoundTickets]:
    """The page, and in a tree its branches."""
    if wanted.is_tree and project:
        narrowed = filters.conditions(wanted.chosen, actor())
        return listing.find_trees(
            project.id, narrowed, wanted.sort, limit=TREES, cursor=cursor, backwards=backwards
        )
    found = listing.find(
        conditions_of(wanted, project),
        wanted.sort,
        limit=ROWS,
        cursor=cursor,
        backwards=backwards,
    )
    return [], found


def _projects() -> list[tuple[str, str]]:
    found = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
    return [(one["id"], one["name"]) for one in found]


def _heads(project: SeenProject | None, wanted: ListRequest, address: Any) -> dict[str, Any]:
    """Of each head that sorts: where a click leads, and what it says of the order now."""
    made = {}
    for label, (first, second) in HEADS.items():
        if project is None and first not in OF_ALL_PROJECTS:
            continue
        now = wanted.sort.name
        target = second if now == first else first
        order = "none"
        if now in (first, second):
            order = "ascending" if wanted.sort.ascending else "descending"
        made[label] = {"href": address(sort="" if target == "created" else target), "order": order}
    return made


@pages.get("/<display_id:reference>")
def short_address(reference: str) -> Response:
    """``/OPS-12`` leads to the ticket."""
    return go(f"/tickets/{reference}")


BATCH = 500
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


@pages.get("/projects/<key>/tickets.<kind>")
def export(key: str, kind: str) -> Response:
    """The project's filtered list as a file."""
    with reading():
        project = visible_by_key(actor(), key)
    return _file(project, kind)


@pages.get("/tickets.<kind>")
def export_all(kind: str) -> Response:
    """The filtered list of all projects as a file."""
    return _file(None, kind)


def _file(project: SeenProject | None, kind: str) -> Response:
    require(Lane.LONG)
    if kind not in TYPES:
        raise NotFound("route", request.path)
    batches = _batches(read_request(request.args, everywhere=project is None), project)
    written = _csv(batches) if kind == "csv" else _json(batches)
    # The first rows are read now: where the database is away, that is said on a page.
    pieces = chain([next(written)], written)
    name = f"{project.key.lower() if project else 'all'}-tickets.{kind}"
    return streamed(pieces, TYPES[kind], name)


def _batches(wanted: ListRequest, project: SeenProject | None) -> Iterator[list[dict[str, Any]]]:
    """The tickets, some at a time; at least one batch, which may be empty."""
    cursor: str | None = None
    while True:
        with reading():
            found = listing.find(
                conditions_of(wanted, project), wanted.sort, limit=BATCH, cursor=cursor
            )
        yield [_flat(row) for row in found.rows]
        cursor = found.after
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
        for one in tickets:
            written += [between, orjson.dumps({name: one[name] for name in FIELDS})]
            between = b",\n"
        yield b"".join(written)
        written.clear()
    yield b"\n]\n"


def _csv(batches: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    head = line(FIELDS)
    for tickets in batches:
        written = "".join(line(one[name] for name in FIELDS) for one in tickets)
        yield (head + written).encode()
        head = ""
