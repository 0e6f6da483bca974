"""The columns of boards as HTML, kept while nothing happens that they would show.

An open board asks every few seconds what changed; one that is opened anew can be the one that was
made last, if the answer would be: nothing. What passes with time alone is told in minutes, so none
is kept for longer than one. Nothing in it depends on who looks: whether they may is asked before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock

from flask import current_app
from markupsafe import Markup

from app.core.cache import Cache
from app.core.clock import MINUTE_MS, iso, now_ms
from app.core.lanes import Lane, require
from app.tickets import changes
from app.tickets.board import Shape
from app.tickets.cards import Card
from app.web.choices import shows_exact_times
from app.web.filters import ago
from app.web.render import render

# About 2 KB each.
KEPT = 3000


@dataclass(frozen=True, slots=True)
class _CardKey:
    """A card, compared by all that can be seen of it: its data, and how long ago things were."""

    card: Card = field(compare=False)
    text: str
    today: str
    ages: tuple[str, ...]


@lru_cache(maxsize=KEPT)
def _written(look: _CardKey) -> Markup:
    return Markup(render("tickets/_card.html", one=look.card))  # noqa: S704 - a template made it


def card_html(card: Card) -> Markup:
    """The card as it looks now."""
    ages = tuple(ago(at) for at in (card["touched_at"], card["quiet_since"]) if at)
    return _written(_CardKey(card, card["look"], iso(now_ms())[:10], ages))


KEPT_MS = MINUTE_MS
# Characters. A board of 500 cards has 300,000.
CAPACITY = 2_500_000
# How long to wait for another who makes the same board.
PATIENCE_SECONDS = 2.0

_PLACE = "docket_boards"
_making = tuple(Lock() for _ in range(8))


@dataclass(frozen=True, slots=True)
class KeptBoard:
    """A board that is kept, or, without columns, what it takes to keep it."""

    shape: Shape
    key: bytes
    at: int
    # Of who had seen everything at that moment.
    token: str
    columns: Markup | None = None


def _boards() -> Cache[KeptBoard]:
    boards: Cache[KeptBoard] = current_app.extensions.setdefault(_PLACE, Cache(CAPACITY))
    return boards


def find(shape: Shape) -> KeptBoard:
    """The board as it was kept, if nothing happened since; before anything else is read for it.

    What happens after this counts as not seen, so a board that is made after it may be kept.
    """
    key = repr((shape, shows_exact_times())).encode()
    known, now = _boards().get(key), now_ms()
    is_young = known is not None and known.at <= now < known.at + KEPT_MS
    is_current, token = changes.since(known.token if known and is_young else None)
    return known if known and is_current else KeptBoard(shape, key, now, token)


def keep(found: KeptBoard, make: Callable[[], Markup]) -> Markup:
    """Make and keep the columns of a board that was not kept.

    Where others make the same ones, wait for theirs: eight at once would take eight times as long.
    """
    # To make them takes longer than the event loop may be held.
    require(Lane.POOL)
    lock = _making[hash(found.key) % len(_making)]
    has_turn = lock.acquire(blocking=False)
    is_first = has_turn
    if not has_turn:
        has_turn = lock.acquire(timeout=PATIENCE_SECONDS)
    try:
        theirs = None if is_first else find(found.shape).columns
        if theirs is not None:
            return theirs
        made = make()
        _boards().put(found.key, replace(found, columns=made), len(made))
        return made
    finally:
        if has_turn:
            lock.release()
