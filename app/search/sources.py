"""What the domains above hand down: how a kind's documents are shown as hits, and read for reindex.

Search is below tickets and the wiki and knows neither; ``app/registry.py`` installs their sources.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.search.documents import DocumentKind, SearchDoc

# A snippet is looked for in so much of a body; what is fetched for a page of hits stays bounded.
BODY_SHOWN = 65_536


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A live ticket or page as it is now, for a hit."""

    id: str
    project_id: str | None
    title: str
    # Its first ``BODY_SHOWN`` characters.
    body: str
    created_at: int
    updated_at: int
    # What only this kind has, in the API's form.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HitSource:
    """One kind of document."""

    kind: DocumentKind
    # How many live ones there are.
    count: Callable[[], int]
    # The live ones among these ids.
    found: Callable[[Sequence[str]], list[FoundDocument]]
    # The live ones among these ids, for the index.
    docs: Callable[[Sequence[str]], list[SearchDoc]]
    # The next live ones with greater ids, locked until the transaction ends, so that a change made
    # meanwhile waits and is indexed after them.
    batch: Callable[[str, int], list[SearchDoc]]
    # Which of these ids are live, locked likewise.
    live: Callable[[Sequence[str]], set[str]]


_sources: dict[str, HitSource] = {}


def install(*sources: HitSource) -> None:
    """Make these the sources of their kinds."""
    _sources.update({str(source.kind): source for source in sources})


def source(kind: str) -> HitSource:
    """The source of a kind."""
    return _sources[kind]


def sources() -> list[HitSource]:
    """All sources."""
    return list(_sources.values())
