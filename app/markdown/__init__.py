"""Markdown: the links of a text and its HTML. Knows no domain and no database."""

from app.markdown.rendering import linked, render
from app.markdown.source import parse
from app.markdown.values import (
    Broken,
    Heading,
    Html,
    Links,
    Profile,
    Resolved,
    Resolver,
    Target,
    Targets,
    nowhere,
)

__all__ = [
    "Broken",
    "Heading",
    "Html",
    "Links",
    "Profile",
    "Resolved",
    "Resolver",
    "Target",
    "Targets",
    "linked",
    "nowhere",
    "parse",
    "render",
]
