"""Markdown texts rendered for a page, with one lookup for all their links."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from flask import Flask, current_app

from app.core.actor import Actor
from app.core.text import unique
from app.markdown import Html, Links, Profile, Targets, linked, render
from app.web.guard import actor
from app.web.page_cache import do_not_cache


class LinkResolver(Protocol):
    """Finds the targets of links; passed in by ``create_app``."""

    def __call__(
        self, actor: Actor, project_id: str | None, key: str | None, links: Links, /
    ) -> Targets:
        """The targets that the actor may see, for a text of this project or of none."""


def install(app: Flask, linker: LinkResolver) -> None:
    app.extensions["docket_linker"] = linker


def link_targets(bodies: Iterable[str], project_id: str | None, key: str | None) -> Targets:
    """The targets of all links in these texts that the reader may see, by one query."""
    linker: LinkResolver = current_app.extensions["docket_linker"]
    links = [linked(body) for body in bodies]
    all_links = Links(
        tuple(unique(slug for one in links for slug in one.slugs)),
        tuple(unique(display_id for one in links for display_id in one.tickets)),
        tuple(unique(username for one in links for username in one.users)),
    )
    return linker(actor(), project_id, key, all_links)


def laid_out(bodies: Mapping[str, str], project_id: str | None, key: str | None) -> dict[str, Html]:
    """The HTML of the texts of a page by name, within a unit of work."""
    return html_of(bodies, link_targets(bodies.values(), project_id, key))


def html_of(bodies: Mapping[str, str], targets: Targets) -> dict[str, Html]:
    """The HTML of each text; its name is the prefix of the anchors of its headings.

    A page on which rendering failed is not cached: another request may have the time.
    """
    html = {
        name: render(body, Profile.FULL, lambda _links: targets, anchor_prefix=f"{name}-")
        for name, body in bodies.items()
    }
    if any(one.failed for one in html.values()):
        do_not_cache()
    return html
