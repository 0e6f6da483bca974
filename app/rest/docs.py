"""The two renderers of the API document, served only where DOCS_ENABLED is true.

Their scripts come out of the installed packages, file by file; the packages are never imported.
"""

import hashlib
import importlib.util
from pathlib import Path

from flask import Blueprint, Response, request

# Both renderers style elements by script, and Redoc works in a worker made of a blob; these two
# pages are the only ones that allow it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

ASSETS = Path(__file__).parent / "assets"
PAGES = {"docs": ASSETS / "docs.html", "redoc": ASSETS / "redoc.html"}
STARTS = {"docs": ASSETS / "docs.js", "redoc": ASSETS / "redoc.js"}

# (page, file name) -> (package, path inside it)
PACKAGED = {
    ("docs", "swagger-ui.css"): ("flask_swagger_ui", "dist/swagger-ui.css"),
    ("docs", "swagger-ui-bundle.js"): ("flask_swagger_ui", "dist/swagger-ui-bundle.js"),
    ("redoc", "redoc.standalone.js"): (
        "flask_openapi3_redoc",
        "templates/redoc/js/redoc.standalone.js",
    ),
}


def install(blueprint: Blueprint) -> None:
    """Add the two pages and their files; raises RuntimeError where a file is not installed."""
    for page, source in PAGES.items():
        _serve(blueprint, f"/{page}", source, "text/html")
        _serve(blueprint, f"/{page}/start.js", STARTS[page], "text/javascript")
    for (page, name), (package, inside) in PACKAGED.items():
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        _serve(blueprint, f"/{page}/{name}", _packaged(package, inside), kind)


def _packaged(package: str, inside: str) -> Path:
    found = importlib.util.find_spec(package)
    places = found.submodule_search_locations if found is not None else None
    path = Path(places[0]) / inside if places else None
    if path is None or not path.is_file():
        raise RuntimeError(f"{inside} of {package} is not installed: run `make install`")
    return path


def _serve(blueprint: Blueprint, rule: str, source: Path, mimetype: str) -> None:
    """One rule for one file, read once; browsers ask again each time and mostly get a 304."""
    content = source.read_bytes()
    tag = hashlib.sha256(content).hexdigest()[:32]

    def view() -> Response:
        response = Response(content, mimetype=mimetype)
        response.set_etag(tag)
        response.headers["Cache-Control"] = "private, no-cache"
        if mimetype == "text/html":
            response.headers["Content-Security-Policy"] = POLICY
        response.make_conditional(request)
        return response

    blueprint.add_url_rule(
        rule,
        endpoint=rule.strip("/").replace(".", "_").replace("/", "_"),
        view_func=view,
        provide_automatic_options=False,
    )
