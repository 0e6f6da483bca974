"""The walls of sticky notes, and what is done with one note."""

from app.sticky_notes.pages import convert, wall
from app.sticky_notes.pages.blueprint import pages

__all__ = ["convert", "pages", "wall"]
