"""The pages of the wiki: index, reader, editor, history, links."""

from app.wiki.pages import editing, history, index, show
from app.wiki.pages.blueprint import pages

__all__ = ["editing", "history", "index", "pages", "show"]
