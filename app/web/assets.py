"""Style sheets, scripts and icons, under addresses that change with their content.

All are read into memory once at start, so a missing file ends the start. Sheets are joined into
one: ``layers.css`` orders the layers, each of which is a folder. Scripts are joined as
``scripts.py`` says. htmx comes out of an installed package of
which only this one file is used (design: nothing third-party is committed); it is located without
importing the package.
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

from app.web.compression import accepts_gzip
from app.web.scripts import join

STATIC = Path(__file__).resolve().parent.parent.parent / "static"
CARRIER = "django_htmx"
CARRIED = "static/django_htmx/htmx-2.min.js"
FOREVER = "public, max-age=31536000, immutable"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
COLOR = re.compile(r"[0-9a-f]{6}")
# Colours in one sheet; its address names them all.
SHEET_LENGTH = 120

assets = Blueprint("assets", __name__, url_prefix="/assets")


class AssetMissing(Exception):
    """A file that every page needs is not installed."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    content: bytes
    packed: bytes
    media_type: str


def find_htmx() -> Path:
    """The htmx script of the installed carrier package; raises AssetMissing."""
    spec = importlib.util.find_spec(CARRIER)
    folders = spec.submodule_search_locations if spec else None
    found = Path(folders[0]) / CARRIED if folders else None
    if found is None or not found.is_file():
        raise AssetMissing(f"htmx is not installed: {CARRIED} of {CARRIER} is missing.")
    return found


def read_all(static: Path = STATIC) -> dict[str, Asset]:
    """Every asset by name; raises AssetMissing where there is nothing to serve."""
    layers = static / "css" / "layers.css"
    sheets = sorted((static / "css").glob("*/*.css"))
    scripts = sorted((static / "js").glob("*.js"))
    if not sheets or not scripts:
        raise AssetMissing(f"There are no style sheets or scripts in {static}.")
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
    found = read_all()
    version = hashlib.sha256(b"".join(found[name].content for name in sorted(found))).hexdigest()
    app.extensions["docket_assets"] = found

    def asset(name: str) -> str:
        """The address of an asset; raises KeyError for one that does not exist."""
        found[name]
        return f"/assets/{version[:12]}/{name}"

    @cache
    def drawn_icon(name: str) -> Markup:
        drawn = '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><use href="{}#{}"/></svg>'
        return Markup(drawn).format(asset("icons.svg"), name)  # noqa: S704 - our own text

    # A filter without a context is worked out when a template is compiled, and what was compiled is
    # kept for longer than this address.
    @pass_context
    def icon(_context: Context, name: str) -> Markup:
        """An icon of the sprite."""
        return drawn_icon(name)

    app.jinja_env.globals["asset"] = asset
    app.jinja_env.filters["icon"] = icon
    app.jinja_env.globals["color_sheet"] = color_sheet
    app.register_blueprint(assets)
    app.config["ASSET_VERSION"] = version[:12]


@assets.get("/<version>/<name>")
def serve(version: str, name: str) -> Response:
    """One asset. An address of another version still answers, but is not kept."""
    one: Asset | None = current_app.extensions["docket_assets"].get(name)
    if one is None:
        abort(404)
    zipped = accepts_gzip(request.headers.get("Accept-Encoding", ""))
    response = Response(one.packed if zipped else one.content, mimetype=one.media_type)
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    current = version == current_app.config["ASSET_VERSION"]
    response.headers["Cache-Control"] = FOREVER if current else "no-cache"
    response.headers["Vary"] = "Accept-Encoding"
    return response


def color_sheet(coloured: Iterable[Mapping[str, str]]) -> Markup:
    """Links to the sheet with one class for each colour of these labels.

    The content security policy forbids ``style`` attributes; the address names the colours, so the
    sheet needs no state and never changes.
    """
    colors = sorted({one["color"].lstrip("#").lower() for one in coloured})
    sheets = [colors[at : at + SHEET_LENGTH] for at in range(0, len(colors), SHEET_LENGTH)]
    links = [
        f'<link rel="stylesheet" href="/assets/colors/{"-".join(sheet)}.css">' for sheet in sheets
    ]
    return Markup("".join(links))  # noqa: S704 - colours are hex digits, checked on their way in


@assets.get("/colors/<names>.css")
def colors(names: str) -> Response:
    """The classes of these colours: they set ``--c``."""
    wanted = names.split("-")
    if len(wanted) > SHEET_LENGTH or not all(COLOR.fullmatch(color) for color in wanted):
        abort(404)
    rules = "".join(f".c-{color}{{--c:#{color}}}" for color in wanted)
    return Response(rules, mimetype="text/css", headers={"Cache-Control": FOREVER})
