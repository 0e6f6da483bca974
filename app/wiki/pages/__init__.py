"""The pages of the wiki: index, reader, editor, history, links."""

from app.wiki.pages import deleting, editing, history, index, links, saves, show, writing_help
from app.wiki.pages.blueprint import pages

__all__ = [
    "deleting",
    "editing",
    "history",
    "index",
    "links",
    "pages",
    "saves",
    "show",
    "writing_help",
]
