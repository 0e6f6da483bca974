"""Cards as HTML, each written once: a look follows from the data and from the date of today."""

from dataclasses import dataclass, field
from functools import lru_cache

from markupsafe import Markup

from app.core.clock import iso, now_ms
from app.tickets.cards import Card
from app.web.filters import ago
from app.web.render import render

# About 2 KB each.
KEPT = 3000


@dataclass(frozen=True, slots=True)
class _Look:
    """A card, compared by all that can be seen of it: its data, and how long ago things were."""

    card: Card = field(compare=False)
    text: str
    today: str
    ages: tuple[str, ...]


@lru_cache(maxsize=KEPT)
def _written(look: _Look) -> Markup:
    return Markup(render("tickets/_card.html", one=look.card))  # noqa: S704 - a template made it


def card_html(card: Card) -> Markup:
    """The card as it looks now."""
    ages = tuple(ago(at) for at in (card["touched_at"], card["quiet_since"]) if at)
    return _written(_Look(card, card["look"], iso(now_ms())[:10], ages))
