"""What all pages share: rendering, forms, the guard in front of them, assets, errors.

It knows no domain: ``create_app`` passes in how to find the actor, and the pages.
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
    """Install the pages and what they share; returns the function that shows errors."""
    app.url_map.converters["display_id"] = DisplayId
    assets.install(app)
    filters.install(app)
    render.install(app)
    texts.install(app, linker)
    app.extensions[AUTHENTICATION] = authentication
    for blueprint in pages:
        app.register_blueprint(blueprint)
    return errors.show_error
