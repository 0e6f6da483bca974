"""Texts that people and bots wrote, laid out for a page: all their links looked up at once."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from flask import Flask, current_app

from app.core.actor import Actor
from app.markdown import Html, Links, Profile, Targets, linked, render
from app.web.guard import actor


class LinkResolver(Protocol):
    """How pages learn what links lead to; passed in by ``create_app``, as web knows no domain."""

    def __call__(
        self, actor: Actor, project_id: str | None, key: str | None, links: Links, /
    ) -> Targets:
        """The targets, as the actor sees them, of links in a text of this project or of none."""


def install(app: Flask, linker: LinkResolver) -> None:
    """Keep the linker."""
    app.extensions["docket_linker"] = linker


def link_targets(bodies: Iterable[str], project_id: str | None, key: str | None) -> Targets:
    """What the links in all these texts lead to, as the reader sees it, by one query."""
    linker: LinkResolver = current_app.extensions["docket_linker"]
    found = [linked(body) for body in bodies]
    links = Links(
        tuple(dict.fromkeys(slug for links in found for slug in links.slugs)),
        tuple(dict.fromkeys(display_id for links in found for display_id in links.tickets)),
    )
    return linker(actor(), project_id, key, links)


def laid_out(bodies: Mapping[str, str], project_id: str | None, key: str | None) -> dict[str, Html]:
    """The HTML of the texts of a page by their names, in a unit of work."""
    return html_of(bodies, link_targets(bodies.values(), project_id, key))


def html_of(bodies: Mapping[str, str], targets: Targets) -> dict[str, Html]:
    """The HTML of each text; the anchors of its headings begin with its name."""
    return {
        name: render(body, Profile.FULL, lambda _links: targets, anchor_prefix=f"{name}-")
        for name, body in bodies.items()
    }
