"""Downloading all steps of a tracker into a file, continuing where an earlier run stopped."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from app.importing.issues import Issue
from app.importing.report import ImportReport
from app.importing.trackers import messages
from app.importing.trackers.client import PARALLEL_REQUESTS, ApiAnswer, Refused, TrackerError
from app.importing.trackers.download_file import DownloadFile, FetchedPage

# Issues per page of parts, which is stored at once.
PORTION = 40
# The most pages of one issue's parts.
MAX_PAGES = 200
_MISSING = frozenset({403, 404, 410})


@dataclass(frozen=True, slots=True)
class DownloadStep:
    """One list to download; ``fetch`` gets the position of a page, None for the first."""

    name: str
    fetch: Callable[[str | None], FetchedPage]


class Tracker(Protocol):
    """Another tracker: what to download, and how to read the download."""

    title: str

    def steps(self, file: DownloadFile) -> Sequence[DownloadStep]:
        """The steps in order; a step may read the downloads of earlier steps from the file."""

    def issues(self, file: DownloadFile, report: ImportReport) -> list[Issue]:
        """The issues of a complete download."""


def download(tracker: Tracker, file: DownloadFile, tell: Callable[[str, int], None]) -> None:
    """Download what is missing; ``tell`` gets the step and its number of items after each page."""
    for step in tracker.steps(file):
        seen: set[str | None] = set()
        while not file.is_done(step.name):
            position = file.position(step.name)
            page = step.fetch(position)
            seen.add(position)
            if page.next is not None and page.next in seen:
                raise TrackerError(messages.same_page_again(tracker.title))
            file.append(step.name, page)
            tell(step.name, file.count(step.name))


def of_each(
    targets: Callable[[], Iterable[Any]], fetch: Callable[[Any], list[Any]]
) -> Callable[[str | None], FetchedPage]:
    """The ``fetch`` of a step that requests parts of each target; its positions count targets."""
    known: list[Any] | None = None

    def portion(position: str | None) -> FetchedPage:
        nonlocal known
        if known is None:
            known = list(targets())
        start = int(position or 0)
        chosen = known[start : start + PORTION]
        with ThreadPoolExecutor(PARALLEL_REQUESTS) as threads:
            items = [item for found in threads.map(fetch, chosen) for item in found]
        end = start + len(chosen)
        return FetchedPage(items, str(end) if end < len(known) else None)

    return portion


def listed(answer: ApiAnswer, *path: str) -> list[dict[str, Any]]:
    """The objects of the list at this path of a response; raises TrackerError if it is no list."""
    found = answer.body
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise TrackerError(messages.no_list(answer.address))
    return entries(found)


def entries(body: Any) -> list[dict[str, Any]]:
    """The objects of a list in a response; empty for any other response."""
    return [one for one in body if isinstance(one, dict)] if isinstance(body, list) else []


def values(body: Any) -> list[Any]:
    """The values of a list in a response; empty for any other response."""
    return body if isinstance(body, list) else []


def named(value: Any, key: str = "name") -> str:
    """The text under a key of an object; empty if there is none."""
    return str(value.get(key) or "") if isinstance(value, dict) else ""


def or_nothing(ask: Callable[[], list[Any]]) -> list[Any]:
    """The result of ``ask``; empty if the tracker does not have or show these parts."""
    try:
        return ask()
    except Refused as refused:
        if refused.status in _MISSING:
            return []
        raise
