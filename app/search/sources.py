"""What the domains above provide for their kind of document: hits, and texts to index.

Search is below tickets and the wiki; ``app/registry.py`` installs their sources.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.search.documents import DocumentKind, SearchDoc

# The characters of a body that are read for a snippet, to bound what a page of hits reads.
BODY_SHOWN = 65_536


class FoundDocument(NamedTuple):
    """A ticket or page in its current state, for a hit."""

    id: str
    project_id: str | None
    title: str
    # Its first ``BODY_SHOWN`` characters.
    body: str
    created_at: int
    updated_at: int
    # The fields that only this kind has, in the API's form.
    details: dict[str, Any]
    # For a ticket: epic, story or subtask.
    ticket_type: str = ""


@dataclass(frozen=True, slots=True)
class FoundComment:
    """A comment as the index has it."""

    id: str
    body: str


@dataclass(frozen=True, slots=True)
class HitSource:
    """How search reads one kind of document."""

    kind: DocumentKind
    # Its table, with the columns ``id`` and ``deleted_at``.
    model: type[Any]
    document: Callable[[Any], SearchDoc]
    # The live documents of these ids, for hits.
    found: Callable[[Sequence[str]], list[FoundDocument]]
    # The live documents of these ids, for the index.
    docs: Callable[[Sequence[str]], list[SearchDoc]]
    # The comments of these documents that are in the index, newest first, by document.
    comments: Callable[[Sequence[str]], dict[str, list[FoundComment]]] = lambda _: {}


_sources: dict[str, HitSource] = {}


def install(*sources: HitSource) -> None:
    _sources.update({str(source.kind): source for source in sources})


def source_of(kind: str) -> HitSource:
    return _sources[kind]


def sources() -> list[HitSource]:
    return list(_sources.values())
