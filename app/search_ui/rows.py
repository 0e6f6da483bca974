"""Hits as a reader sees them: with an address, their project, and what matches marked."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select

from app.database.session import AnyRow, session
from app.projects.models import Project
from app.search.documents import Kind
from app.search.service import Hit
from app.search.snippets import Snippet
from app.web.wiki_addresses import address_of

# A stretch of text, and whether it matches.
Piece = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Row:
    """A hit and where it leads."""

    hit: Hit
    address: str
    # None for a global page.
    project: AnyRow | None
    snippet: list[Piece]

    @property
    def is_ticket(self) -> bool:
        """Whether it is a ticket, and not a page."""
        return self.hit.kind is Kind.TICKET


def rows_of(hits: list[Hit]) -> list[Row]:
    """The rows of these hits, in a unit of work."""
    projects = _projects(hit.found.project_id for hit in hits)
    return [
        Row(
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
    if hit.kind is Kind.TICKET:
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
