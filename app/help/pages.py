"""Pages of the help, and what agents read of it."""

from flask import Blueprint, Response, abort, current_app

from app.config import settings_at_hand
from app.help import agents, samples
from app.mcp.registry import Catalog
from app.web.guard import public
from app.web.render import page

pages = Blueprint("help_pages", __name__)


def _catalog() -> Catalog:
    found: Catalog = current_app.config["TOOLS"]
    return found


@pages.get("/help")
def index() -> Response:
    """What is where."""
    return page("help/index.html")


@pages.get("/help/shortcuts")
def shortcuts() -> Response:
    """Every key; the sheet that ``?`` opens shows the same table."""
    return page("help/shortcuts.html")


@pages.get("/help/agents")
def for_agents() -> Response:
    """How an agent connects, and what it can do then."""
    settings, catalog = settings_at_hand(), _catalog()
    return page(
        "help/agents.html",
        address=agents.mcp_address(settings.base_url),
        recipes=agents.recipes(settings.base_url, settings.service_name),
        tools=agents.offered(catalog),
        instructions=catalog.instructions,
    )


@pages.get("/llms.txt")
@public()
def llms() -> Response:
    """The same for agents, without a login.

    It says no more than the OpenAPI document does, which is public too: what the program can do and
    where it is, nothing of what is kept in it, and no token.
    """
    settings = settings_at_hand()
    text = agents.llms_text(_catalog(), settings.base_url, settings.app_name, settings.service_name)
    return Response(text, mimetype="text/plain")


@pages.get("/design")
def design() -> Response:
    """Every token and component in its states; in development and tests alone (``FLASK_DEBUG``)."""
    if not (current_app.debug or current_app.testing):
        abort(404)
    return page("help/design.html", **samples.everything())
