"""The pages of tickets: my work, the board, the list, and one ticket."""

from app.tickets.pages import (
    board,
    bulk,
    children,
    comments,
    epics,
    fields,
    labels,
    listing,
    moving,
    new,
    news,
    show,
    stream,
    writing,
)
from app.tickets.pages.blueprint import pages

__all__ = [
    "board",
    "bulk",
    "children",
    "comments",
    "epics",
    "fields",
    "labels",
    "listing",
    "moving",
    "new",
    "news",
    "pages",
    "show",
    "stream",
    "writing",
]
