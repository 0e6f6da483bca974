"""Style sheets, scripts and icons, at URLs that change with their content.

All are read into memory at startup. Style sheets are joined into one: ``layers.css`` orders the
layers, and each layer is a folder. ``scripts.py`` joins the scripts. htmx comes from one file of an
installed package, which is not imported.
"""

import gzip
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, current_app, request
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from app.web import messages
from app.web.compression import accepts_gzip
from app.web.scripts import join

STATIC = Path(__file__).resolve().parent.parent.parent / "static"
CARRIER = "django_htmx"
CARRIED = "static/django_htmx/htmx-2.min.js"
FOREVER = "public, max-age=31536000, immutable"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
COLOR = re.compile(r"[0-9a-f]{6}")
# The most colors in one sheet; its URL names them all.
SHEET_LENGTH = 120

assets = Blueprint("assets", __name__, url_prefix="/assets")


class AssetMissing(Exception):
    """A file that every page needs is missing."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file in memory, plain and compressed."""

    content: bytes
    gzipped: bytes
    media_type: str


def find_htmx() -> Path:
    """The htmx script in the installed package; raises AssetMissing."""
    spec = importlib.util.find_spec(CARRIER)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / CARRIED if folders else None
    if path is None or not path.is_file():
        raise AssetMissing(messages.htmx_missing(CARRIED, CARRIER))
    return path


def read_all(static: Path = STATIC) -> dict[str, Asset]:
    """Every asset by name; raises AssetMissing if a kind has no files."""
    layers = static / "css" / "layers.css"
    sheets = sorted((static / "css").glob("*/*.css"))
    scripts = sorted((static / "js").glob("*.js"))
    if not sheets or not scripts:
        raise AssetMissing(messages.no_assets(str(static)))
    contents = {"app.css": b"\n".join(sheet.read_bytes() for sheet in (layers, *sheets))}
    joined = join({path.name: path.read_text() for path in scripts})
    contents |= {name: text.encode() for name, text in joined.items()}
    contents |= {path.name: path.read_bytes() for path in static.glob("*.svg")}
    contents["htmx.js"] = find_htmx().read_bytes()
    return {
        name: Asset(content, gzip.compress(content, 9, mtime=0), TYPES[Path(name).suffix])
        for name, content in contents.items()
    }


def install(app: Flask) -> None:
    """Read the assets, serve them, and give templates ``asset``, ``icon``, ``color_sheet``."""
    contents = read_all()
    joined = b"".join(contents[name].content for name in sorted(contents))
    version = hashlib.sha256(joined).hexdigest()[:12]
    app.extensions["docket_assets"] = contents

    def asset(name: str) -> str:
        """The URL of an asset; raises KeyError for an unknown name."""
        contents[name]
        return f"/assets/{version}/{name}"

    @cache
    def icon_markup(name: str) -> Markup:
        svg = '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use href="{}#{}"/></svg>'
        return Markup(svg).format(asset("icons.svg"), name)  # noqa: S704 - a constant

    # Jinja evaluates a filter without a context at compile time. Compiled templates live longer
    # than this URL.
    @pass_context
    def icon(_context: Context, name: str) -> Markup:
        return icon_markup(name)

    app.jinja_env.globals["asset"] = asset
    app.jinja_env.filters["icon"] = icon
    app.jinja_env.globals["color_sheet"] = color_sheet
    app.register_blueprint(assets)
    app.config["ASSET_VERSION"] = version


@assets.get("/<version>/<name>")
def serve(version: str, name: str) -> Response:
    """Send an asset. The URL of another version works too, but caches do not keep it."""
    served: Asset | None = current_app.extensions["docket_assets"].get(name)
    if served is None:
        abort(404)
    if accepts_gzip(request.headers.get("Accept-Encoding", "")):
        response = Response(served.gzipped, mimetype=served.media_type)
        response.headers["Content-Encoding"] = "gzip"
    else:
        response = Response(served.content, mimetype=served.media_type)
    is_current = version == current_app.config["ASSET_VERSION"]
    response.headers["Cache-Control"] = FOREVER if is_current else "no-cache"
    response.headers["Vary"] = "Accept-Encoding"
    return response


def color_sheet(labels: Iterable[Mapping[str, str]]) -> Markup:
    """Links to the style sheets with a class for each color of these labels.

    The content security policy forbids ``style`` attributes. The URL of a sheet names its colors,
    so it needs no state and never changes.
    """
    colors = sorted({label["color"].lstrip("#").lower() for label in labels})
    sheets = [colors[start : start + SHEET_LENGTH] for start in range(0, len(colors), SHEET_LENGTH)]
    links = [
        f'<link rel="stylesheet" href="/assets/colors/{"-".join(sheet)}.css">' for sheet in sheets
    ]
    return Markup("".join(links))  # noqa: S704 - colors are checked on input


@assets.get("/colors/<names>.css")
def colors(names: str) -> Response:
    """Send a style sheet with a class for each of these colors, which sets ``--c``."""
    requested = names.split("-")
    if len(requested) > SHEET_LENGTH or not all(COLOR.fullmatch(color) for color in requested):
        abort(404)
    rules = "".join(f".c-{color}{{--c:#{color}}}" for color in requested)
    return Response(rules, mimetype="text/css", headers={"Cache-Control": FOREVER})
