"""The common parts of all pages: rendering, forms, the guard in front of them, assets, errors.

Independent of domains: ``create_app`` passes in the pages, and how to find the actor.
"""

from collections.abc import Callable, Sequence

from flask import Blueprint, Flask, Response
from werkzeug.routing import BaseConverter

from app.core.errors import DomainError
from app.core.ids import DISPLAY_ID_PATTERN
from app.http.current import AUTHENTICATION, Authentication
from app.web import assets, errors, filters, render, texts


class DisplayId(BaseConverter):
    regex = DISPLAY_ID_PATTERN.pattern


def install(
    app: Flask,
    authentication: Authentication,
    pages: Sequence[Blueprint],
    linker: texts.LinkResolver,
) -> Callable[[DomainError], Response]:
    """Install the pages and their common parts; returns the function that shows errors."""
    app.url_map.converters["display_id"] = DisplayId
    assets.install(app)
    filters.install(app)
    render.install(app)
    texts.install(app, linker)
    app.extensions[AUTHENTICATION] = authentication
    for blueprint in pages:
        app.register_blueprint(blueprint)
    return errors.show_error
