"""The pages of tickets: my work, the board, the list, and one ticket."""

from app.tickets.pages import (
    board,
    comments,
    fields,
    home,
    listing,
    moving,
    new,
    picking,
    quick,
    relations,
    show,
    views,
    watchers,
)
from app.tickets.pages.blueprint import pages

__all__ = [
    "board",
    "comments",
    "fields",
    "home",
    "listing",
    "moving",
    "new",
    "pages",
    "picking",
    "quick",
    "relations",
    "show",
    "views",
    "watchers",
]
