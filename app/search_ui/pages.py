"""The search page and the palette. Both ask the verb that REST and bots ask."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.core.errors import InvalidField
from app.core.ids import as_uuid
from app.database.session import AnyRow, reading, session
from app.projects import service as projects
from app.projects.models import Project
from app.search import service
from app.search.documents import DocumentKind
from app.search.parsing import parse
from app.search.ranking import Tier
from app.search.service import Hit
from app.search.snippets import Snippet
from app.search.words import words
from app.search_ui import commands
from app.web.guard import actor
from app.web.render import go, is_htmx, page, partial
from app.web.wiki_addresses import address_of

# A stretch of text, and whether it matches.
Piece = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A hit and where it leads."""

    hit: Hit
    address: str
    # None for a global page.
    project: AnyRow | None
    snippet: list[Piece]

    @property
    def is_ticket(self) -> bool:
        """Whether it is a ticket, and not a page."""
        return self.hit.kind is DocumentKind.TICKET


def rows_of(hits: list[Hit]) -> list[SearchRow]:
    """The rows of these hits, in a unit of work."""
    projects = _projects(hit.found.project_id for hit in hits)
    return [
        SearchRow(
            hit,
            _address(hit, projects),
            projects.get(hit.found.project_id or ""),
            _pieces(hit.snippet),
        )
        for hit in hits
    ]


def _projects(identifiers: Iterable[str | None]) -> dict[str, AnyRow]:
    wanted = {identifier for identifier in identifiers if identifier}
    if not wanted:
        return {}
    found = session.execute(
        select(Project.id, Project.key, Project.name).where(Project.id.in_(wanted))
    )
    return {row.id: row for row in found}


def _address(hit: Hit, projects: dict[str, AnyRow]) -> str:
    if hit.kind is DocumentKind.TICKET:
        return f"/tickets/{hit.found.details['display_id']}"
    project = projects.get(hit.found.project_id or "")
    return address_of(project.key if project else None, hit.found.details["slug"], hit.found.id)


def _pieces(snippet: Snippet) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for start, end in snippet.highlights:
        found += [(snippet.text[at:start], False), (snippet.text[start:end], True)]
        at = end
    found.append((snippet.text[at:], False))
    return [piece for piece in found if piece[0]]


pages = Blueprint("finding_pages", __name__)

ROWS = 30
PROJECTS = 200
# What the palette shows: hits, and commands beside them or alone.
HITS = 8
COMMANDS = 6
COMMANDS_ALONE = 12
# How many single words are offered where all of them find nothing.
SINGLE_WORDS = 5


@dataclass(frozen=True, slots=True)
class SearchForm:
    """What an address asks for; what makes no sense in it is left out."""

    q: str
    type: str
    project_id: str

    @property
    def is_narrowed(self) -> bool:
        """Whether only a part is searched."""
        return bool(self.type or self.project_id)

    def address(self, **changes: str) -> str:
        """The address of this search, with changes."""
        given = {"q": self.q, "type": self.type, "project_id": self.project_id, **changes}
        return "/search?" + urlencode({name: value for name, value in given.items() if value})


def _read_form() -> SearchForm:
    kind = request.args.get("type", "")
    return SearchForm(
        q=request.args.get("q", "").strip()[: service.QUERY_LENGTH],
        type=kind if kind in set(DocumentKind) else "",
        project_id=as_uuid(request.args.get("project_id", "")) or "",
    )


@pages.get("/search")
def search() -> Response:
    """Show tickets and wiki pages that fit, the best first."""
    asked = _read_form()
    cursor = request.args.get("cursor") or None
    with reading():
        offered = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        try:
            rows, next_cursor = _found(asked, cursor)
        except InvalidField:
            if cursor is None:
                raise
            # A cursor that was cut off on its way, or is another search's: start at the top.
            return go(asked.address())
    return page(
        "search/index.html",
        block="results",
        asked=asked,
        rows=rows,
        projects=offered,
        is_first=cursor is None,
        next_url=asked.address(cursor=next_cursor) if next_cursor else "",
        single_words=[] if rows else _single_words(asked.q),
        search_url=asked.address,
    )


def _found(asked: SearchForm, cursor: str | None) -> tuple[list[SearchRow], str | None]:
    if not asked.q:
        return [], None
    found = service.find(
        actor(),
        q=asked.q,
        type=asked.type or None,
        project_id=asked.project_id or None,
        limit=ROWS,
        cursor=cursor,
    )
    return rows_of(found.hits), found.next_cursor


def _single_words(q: str) -> list[str]:
    """The words of a query with several, each of which may find what all do not."""
    wanted = [" ".join(run.text for run in part.runs) for part in parse(q).wanted]
    return list(dict.fromkeys(wanted))[:SINGLE_WORDS] if len(wanted) > 1 else []


@pages.get("/palette")
def palette() -> Response:
    """The palette's list for what was typed: hits and commands, or commands where nothing was."""
    if not is_htmx():
        return go(_read_form().address())
    asked = _read_form()
    with reading():
        offered = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        hits = service.find(actor(), q=asked.q, limit=HITS).hits if asked.q else []
        rows = rows_of(hits)
    among = commands.commands(offered, request.args.get("project", ""))
    fitting = commands.matching(among, asked.q, COMMANDS if rows else COMMANDS_ALONE)
    return partial(
        "search/_palette_rows.html", asked=asked, sections=_sections(rows, fitting, asked)
    )


def _sections(
    rows: list[SearchRow], fitting: list[commands.Command], asked: SearchForm
) -> list[dict[str, Any]]:
    """The sections in their order: a ticket named by its id, commands meant by name, the others."""
    found = {"name": "Tickets and pages", "rows": rows, "commands": []}
    places = {"name": "Go to", "rows": [], "commands": fitting}
    is_named = bool(rows) and rows[0].hit.tier is Tier.DISPLAY_ID
    is_meant = bool(fitting) and fitting[0].begins_with(words(asked.q))
    ordered = [places, found] if is_meant and not is_named else [found, places]
    return [one for one in ordered if one["rows"] or one["commands"]]
