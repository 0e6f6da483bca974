"""The search page and the palette. Both call the verb that REST and MCP call."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.core.errors import InvalidField
from app.core.ids import as_uuid, is_display_id
from app.database.session import AnyRow, reading, session
from app.projects import service as projects
from app.projects.models import Project
from app.search import service
from app.search.documents import DocumentKind
from app.search.ranking import Tier
from app.search.service import Hit
from app.search.snippets import Piece, pieces
from app.search.words import words
from app.search_ui import commands, messages
from app.tickets.importing import imported_as
from app.web.guard import actor
from app.web.render import go, is_htmx, page, partial
from app.web.wiki_addresses import address_of

ROWS = 30
PROJECTS = 200
# The most hits that the palette considers to find open tickets.
MAX_CONSIDERED_HITS = 24
# The numbers of the palette's hits, its commands below hits, and its commands without hits.
HITS = 8
COMMANDS = 6
COMMANDS_ALONE = 12

pages = Blueprint("finding_pages", __name__)


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The search of a query string; invalid values are dropped."""

    q: str
    type: str
    project_id: str

    @property
    def is_narrowed(self) -> bool:
        """Whether the search is restricted to a kind or a project."""
        return bool(self.type or self.project_id)

    def address(self, **changes: str) -> str:
        """The address of this search with changes."""
        values = {"q": self.q, "type": self.type, "project_id": self.project_id, **changes}
        return "/search?" + urlencode({name: value for name, value in values.items() if value})


def _read_form() -> SearchForm:
    kind = request.args.get("type", "")
    return SearchForm(
        q=request.args.get("q", "").strip()[: service.QUERY_LENGTH],
        type=kind if kind in set(DocumentKind) else "",
        project_id=as_uuid(request.args.get("project_id", "")) or "",
    )


@pages.get("/search")
def search() -> Response:
    form = _read_form()
    cursor = request.args.get("cursor") or None
    with reading():
        options = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        try:
            results = _results(form, cursor)
            moved = imported_as(form.q, [one["id"] for one in options]) if form.q else []
            rows = _rows_of(results.hits)
        except InvalidField:
            if cursor is None:
                raise
            # The cursor is truncated or belongs to another search: start at the top.
            return go(form.address())
    return page(
        "search/index.html",
        block="results",
        search_form=form,
        rows=rows,
        moved=moved,
        projects=options,
        is_first=cursor is None,
        next_url=form.address(cursor=results.next_cursor) if results.next_cursor else "",
        is_any_word=results.matched is service.Match.ANY,
        search_url=form.address,
    )


def _results(form: SearchForm, cursor: str | None) -> service.Results:
    if not form.q:
        return service.Results([])
    return service.find(
        actor(),
        q=form.q,
        type=form.type or None,
        project_id=form.project_id or None,
        limit=ROWS,
        cursor=cursor,
        match=service.Match.ANY,
    )


@pages.get("/palette")
def palette() -> Response:
    """Hits and commands for the typed text; without text, only commands."""
    form = _read_form()
    if not is_htmx():
        return go(form.address())
    with reading():
        options = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        hits: list[Hit] = []
        if form.q:
            hits = service.find(actor(), q=form.q, limit=MAX_CONSIDERED_HITS).hits
        rows = _rows_of(sorted(hits, key=_rank)[:HITS])
    available = commands.commands(options, request.args.get("project", ""))
    matching = commands.matching(available, form.q, COMMANDS if rows else COMMANDS_ALONE)
    reference = request.args.get("ticket", "")
    here = commands.actions(reference) if is_display_id(reference) else []
    on_ticket = commands.matching(here, form.q, COMMANDS_ALONE)
    return partial(
        "search/_palette_rows.html",
        search_form=form,
        sections=_sections(rows, matching, {"name": reference, "commands": on_ticket}, form),
    )


def _rank(hit: Hit) -> tuple[bool, bool]:
    """The sort key of a hit: display ids and exact titles first, done tickets last."""
    state = hit.found.details.get("state")
    return hit.tier < Tier.EXACT_TITLE, bool(state and state["category"] == "done")


def _sections(
    rows: list["SearchRow"],
    matching: list[commands.Command],
    on_ticket: dict[str, Any],
    form: SearchForm,
) -> list[dict[str, Any]]:
    """Hits first, unless a command begins with the typed text and no display id was typed."""
    typed = words(form.q)
    hits = {"name": messages.TICKETS_AND_PAGES, "rows": rows, "commands": []}
    places = {"name": messages.GO_TO, "rows": [], "commands": matching}
    is_named = bool(rows) and rows[0].hit.tier is Tier.DISPLAY_ID

    def is_meant(section: dict[str, Any]) -> bool:
        found = section["commands"]
        return not is_named and bool(found) and (not typed or found[0].begins_with(typed))

    ordered = sorted(
        [on_ticket, hits, places] if is_meant(on_ticket) else [hits, on_ticket, places],
        key=lambda section: not is_meant(section),
    )
    return [section for section in ordered if section.get("rows") or section["commands"]]


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A hit as displayed, with its address."""

    hit: Hit
    address: str
    # None for a global page.
    project: AnyRow | None

    @property
    def is_ticket(self) -> bool:
        return self.hit.kind is DocumentKind.TICKET

    @property
    def snippet(self) -> list[Piece]:
        return pieces(self.hit.snippet.text, self.hit.snippet.highlights)


def _rows_of(hits: list[Hit]) -> list[SearchRow]:
    """The rows of these hits; in a unit of work."""
    project_ids = {hit.found.project_id for hit in hits if hit.found.project_id}
    by_id: dict[str | None, AnyRow] = {}
    if project_ids:
        statement = select(Project.id, Project.key, Project.name).where(Project.id.in_(project_ids))
        by_id = {row.id: row for row in session.execute(statement)}
    rows = []
    for hit in hits:
        project = by_id.get(hit.found.project_id)
        rows.append(SearchRow(hit, _address(hit, project), project))
    return rows


def _address(hit: Hit, project: AnyRow | None) -> str:
    if hit.kind is DocumentKind.TICKET:
        anchor = f"#comment-{hit.comment_id}" if hit.comment_id is not None else ""
        return f"/tickets/{hit.found.details['display_id']}{anchor}"
    return address_of(project.key if project else None, hit.found.details["slug"], hit.found.id)
