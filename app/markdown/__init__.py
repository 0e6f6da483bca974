"""Markdown: the links of a text and its HTML. Independent of domains and the database."""

from app.markdown.rendering import linked, mentions, render
from app.markdown.source import parse
from app.markdown.values import (
    Broken,
    Html,
    Links,
    Mentioned,
    Profile,
    Resolved,
    Target,
    Targets,
    nowhere,
)

__all__ = [
    "Broken",
    "Html",
    "Links",
    "Mentioned",
    "Profile",
    "Resolved",
    "Target",
    "Targets",
    "linked",
    "mentions",
    "nowhere",
    "parse",
    "render",
]
