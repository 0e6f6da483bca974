"""Markdown: what a text links to, and its HTML. Knows no domain and no database."""

from app.markdown.rendering import render
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
    "nowhere",
    "parse",
    "render",
]
