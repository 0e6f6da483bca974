"""A cache of the HTML of boards and cards.

A cached board is valid until an event changes what it shows, and for a minute at most, because
boards show ages in minutes. Its HTML depends on the reader only by the choice of times and the day;
the access is checked first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from threading import Lock

from flask import current_app
from markupsafe import Markup

from app.core.cache import Cache
from app.core.clock import MINUTE_MS, now_ms
from app.core.lanes import Lane, require
from app.http import current
from app.tickets import changes
from app.tickets.board import Shape
from app.tickets.cards import Card
from app.web.choices import shows_exact_times
from app.web.filters import ago
from app.web.render import render

# A card takes about 2 KB.
CACHED_CARDS = 3000


@dataclass(frozen=True, slots=True)
class _CardKey:
    """A card, compared by everything that it shows: its data, and the ages in it."""

    card: Card = field(compare=False)
    text: str
    today: date
    ages: tuple[str, ...]


@lru_cache(maxsize=CACHED_CARDS)
def _written(look: _CardKey) -> Markup:
    return Markup(render("tickets/_card.html", one=look.card))  # noqa: S704 - a template made it


def card_html(card: Card) -> Markup:
    ages = tuple(ago(at) for at in (card["touched_at"], card["stalled_since"]) if at)
    return _written(_CardKey(card, card["look"], current.today(), ages))


CACHED_MS = MINUTE_MS
# Characters of HTML; a board of 500 cards has 300,000.
CAPACITY = 2_500_000
# How long a request waits for another one that renders the same board.
RENDER_WAIT_SECONDS = 2.0

_EXTENSION = "docket_boards"
_making = tuple(Lock() for _ in range(8))


@dataclass(frozen=True, slots=True)
class CachedBoard:
    """A cached board; without ``columns``, one that has to be rendered."""

    shape: Shape
    key: bytes
    at: int
    # The token of ``changes`` at the time ``at``.
    token: str
    columns: Markup | None = None


def _boards() -> Cache[CachedBoard]:
    boards: Cache[CachedBoard] = current_app.extensions.setdefault(_EXTENSION, Cache(CAPACITY))
    return boards


def find(shape: Shape) -> CachedBoard:
    """The cached board, if it is valid. Call this before reading anything for the board.

    Events after this call count as unseen, so a board that is rendered afterwards can be cached.
    """
    key = repr((shape, shows_exact_times(), current.today())).encode()
    known, now = _boards().get(key), now_ms()
    is_young = known is not None and known.at <= now < known.at + CACHED_MS
    is_current, token = changes.since(known.token if known and is_young else None)
    return known if known and is_current else CachedBoard(shape, key, now, token)


def fill(found: CachedBoard, make: Callable[[], Markup]) -> Markup:
    """Render and cache the columns of a board that ``find`` did not find.

    If another request renders the same board, wait for its result for ``RENDER_WAIT_SECONDS``.
    """
    # Rendering would block the event loop for too long.
    require(Lane.POOL)
    lock = _making[hash(found.key) % len(_making)]
    has_lock = lock.acquire(blocking=False)
    is_first = has_lock
    if not has_lock:
        has_lock = lock.acquire(timeout=RENDER_WAIT_SECONDS)
    try:
        other = None if is_first else find(found.shape).columns
        if other is not None:
            return other
        columns = make()
        _boards().put(found.key, replace(found, columns=columns), len(columns))
        return columns
    finally:
        if has_lock:
            lock.release()
