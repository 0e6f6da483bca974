"""Deleting contents without a file, left by a deletion or an unfinished upload."""

from itertools import islice

from sqlalchemy import select

from app.config import Settings
from app.database.locks import Lock, acquire
from app.database.session import reading, session
from app.files.models import FileContent
from app.files.store import clear_leftovers, store_of

BATCH = 500
MAX_FILES_PER_RUN = 10_000


class ContentSweep:
    """The sweep of one process; a lease ensures that only one runs at a time."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def find(self, settings: Settings) -> None:
        """Find contents to discard; not in a transaction, as a store can be slow."""
        self._found = listed(settings)

    def discard_next(self, settings: Settings) -> int:
        """Discard a batch of found contents, in a transaction; returns the size of the batch."""
        return discard_some(settings, self._found)


def listed(settings: Settings) -> list[str]:
    """Old contents without a row; opens its own units of work. Also clears leftovers."""
    clear_leftovers(settings)
    found: list[str] = []
    old = store_of(settings).old()
    while len(found) < MAX_FILES_PER_RUN and (batch := list(islice(old, BATCH))):
        with reading():
            found += _without_rows(batch)
    return found


def discard_some(settings: Settings, found: list[str]) -> int:
    """Discard up to BATCH found contents, in a transaction; returns how many were taken."""
    acquire(Lock.FILES)
    taken = found[-BATCH:]
    del found[-BATCH:]
    store_of(settings).discard(_without_rows(taken))
    return len(taken)


def _without_rows(contents: list[str]) -> list[str]:
    known = select(FileContent.sha256).where(FileContent.sha256.in_(contents))
    has_row = set(session.scalars(known))
    return [one for one in contents if one not in has_row]
