"""How pages work here: rendering, forms, the guard in front of them, assets, errors.

It knows no domain: who calls, and which pages there are, is passed in by ``create_app``.
"""

from collections.abc import Callable, Sequence

from flask import Blueprint, Flask, Response

from app.core.errors import DomainError
from app.web import assets, errors, filters, guard, render


def install(
    app: Flask, who: guard.Who, pages: Sequence[Blueprint]
) -> Callable[[DomainError], Response]:
    """Put the pages and what they stand on into the application; gives the error page."""
    assets.install(app)
    filters.install(app)
    render.install(app)
    guard.install(app, who, frozenset(page.name for page in pages))
    for blueprint in pages:
        app.register_blueprint(blueprint)
    return errors.show_error
