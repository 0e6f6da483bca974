"""The pages of bots: all of them, a new one, and which of them work in a project."""

from app.bots.pages import bots, project
from app.bots.pages.bots import create_from_form, pages, reveal_of

__all__ = ["bots", "create_from_form", "pages", "project", "reveal_of"]
