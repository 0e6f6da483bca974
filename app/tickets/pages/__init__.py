"""The pages of tickets: boards, lists, epics, and one ticket."""

from app.tickets.pages import (
    board,
    bulk,
    children,
    comments,
    epics,
    fields,
    listing,
    moving,
    new,
    news,
    reactions,
    show,
    stream,
    templates,
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
    "listing",
    "moving",
    "new",
    "news",
    "pages",
    "reactions",
    "show",
    "stream",
    "templates",
    "writing",
]
