"""Responses from templates: a whole page, one block of it, or a partial template.

A region that htmx swaps is a block of its page's template; repeated parts are partial templates.
Without htmx, the same URL returns the whole page.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from flask import Flask, Response, current_app, request
from jinja2 import Environment, FileSystemBytecodeCache
from markupsafe import Markup
from werkzeug.urls import iri_to_uri

from app.core.ids import request_id
from app.http.current import current_g, current_settings
from app.http.flask_app import Reply
from app.web import choices, page_cache
from app.web.compression import accepts_gzip

HTML = "text/html; charset=utf-8"
VARY = "HX-Request, Accept-Encoding"
# No eval, no snapshots of private text, a real load on Back, and every error as a toast.
HTMX = {
    "allowEval": False,
    "includeIndicatorStyles": False,
    "allowScriptTags": False,
    "historyCacheSize": 0,
    "refreshOnHistoryMiss": True,
    "historyRestoreAsHxRequest": False,
    "defaultSwapStyle": "outerHTML",
    # With the default of 20 ms, a click on new content could follow the plain link.
    "defaultSettleDelay": 0,
    # Not style, which the policy forbids: a field that the user resized has one.
    "attributesToSettle": ["class"],
    "timeout": 15000,
    "responseHandling": [
        {"code": "204", "swap": False},
        {"code": "[23]..", "swap": True},
        {"code": "422", "swap": True},
        {"code": "409", "swap": True},
        {
            "code": "401|403|404|410|413|429|5..",
            "swap": True,
            "error": True,
            "target": "#toasts",
            "swapOverride": "beforeend",
        },
        {"code": "...", "swap": False, "error": True},
    ],
}
HTMX_CONFIG = Markup(orjson.dumps(HTMX).decode().replace("'", "&#39;"))  # noqa: S704 - a constant


def install(app: Flask) -> None:
    """Set up templates: the common context, and the macros of ``macros/ui.html`` as ``ui``."""
    env = app.jinja_env
    env.trim_blocks = True
    env.lstrip_blocks = True
    _keep_bytecode(env, app.config["SETTINGS"].instance_dir / "templates")
    env.globals["htmx_config"] = HTMX_CONFIG
    page_cache.install(app)
    with app.app_context():
        env.globals["ui"] = env.get_template("macros/ui.html").module

    app.context_processor(_common_context)


def _keep_bytecode(env: Environment, directory: Path) -> None:
    """Keep compiled templates in this directory: compiling takes most of a startup.

    They are code, so no other user may write there.
    """
    with suppress(OSError):
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        is_private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
        if is_private and status.st_uid == os.geteuid():
            env.bytecode_cache = FileSystemBytecodeCache(str(directory))


def _common_context() -> dict[str, Any]:
    settings = current_settings()
    actor = current_g().actor
    return {
        "app_name": settings.app_name,
        "prefers": choices.chosen(),
        "bots_paused": actor.all_bots_paused,
        "paused_bot": actor.paused_bot,
        "me": {
            "id": actor.user_id or "",
            "type": "human",
            "username": actor.username,
            "display_name": actor.display_name or actor.username,
        },
    }


def warm(app: Flask) -> None:
    """Compile every template, so that no reader waits for that."""
    for name in app.jinja_env.list_templates(extensions=("html",)):
        app.jinja_env.get_template(name)


def is_htmx() -> bool:
    """Whether htmx requests a fragment; a history restore needs the page (django-htmx 410)."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def html(content: str | bytes, status: int = 200) -> Response:
    """An HTML response, with ``Vary`` as fragments and pages share URLs."""
    return Reply(content, status, {"Vary": VARY}, content_type=HTML)


def page(template: str, *, block: str = "", status: int = 200, **context: Any) -> Response:
    """The page, or only ``block`` of it for htmx."""
    if block and is_htmx():
        return html(render_block(template, block, **context), status)
    return html(render(template, **context), status)


def cached_page(
    template: str, key: dict[str, Any], context: Callable[[], dict[str, Any]] | None = None
) -> Response:
    """The whole page, cached under ``key``, which must determine all that the page shows.

    ``context`` builds the template's context if the page is not cached; by default it is the key.
    The template may use only that and the common context, nothing else of the request.
    """
    common = _common_context()

    def rendered() -> str:
        values = common | (key if context is None else context())
        return current_app.jinja_env.get_template(template).render(values)

    cached = page_cache.cached(template, common | key, rendered)
    if not accepts_gzip(request.headers.get("Accept-Encoding", "")):
        return html(cached.html())
    response = html(cached.gzip())
    response.headers["Content-Encoding"] = "gzip"
    return response


def partial(template: str, *, status: int = 200, **context: Any) -> Response:
    """A partial template alone."""
    return html(render(template, **context), status)


def render(template: str, **context: Any) -> str:
    """The text of a template with the common context."""
    current_app.update_template_context(context)
    return current_app.jinja_env.get_template(template).render(context)


def render_block(template: str, block: str, **context: Any) -> str:
    """The text of one block; the top level of the template does not run."""
    source = current_app.jinja_env.get_template(template)
    current_app.update_template_context(context)
    context["is_fragment"] = True
    return "".join(source.blocks[block](source.new_context(context)))


def oob(content: str, target: str, how: str = "beforeend") -> str:
    """A fragment that htmx swaps into ``target`` out of band."""
    return f'<div hx-swap-oob="{how}:{target}">{content}</div>'


def toast(text: str) -> str:
    """A toast as an out-of-band fragment."""
    ui: Any = current_app.jinja_env.globals["ui"]
    return oob(str(ui.toast(text)), "#toasts")


def undo_toast(text: str, back: str, *, href: str = "", action: str = "") -> str:
    """A toast with a button that undoes this request and goes to ``back``."""
    ui: Any = current_app.jinja_env.globals["ui"]
    content = ui.toast(text, href=href, action=action, undo=request_id.get(), back=back)
    return oob(str(content), "#toasts")


def with_toast(response: Response, text: str) -> Response:
    """Append a toast to a response."""
    response.set_data(response.get_data(as_text=True) + toast(text))
    return response


def with_undo(response: Response, text: str, back: str) -> Response:
    """Append a toast with a button that undoes this request."""
    response.set_data(response.get_data(as_text=True) + undo_toast(text, back))
    return response


def go(url: str) -> Response:
    """Redirect: with 303 for forms, with a header for htmx.

    htmx would follow a 303 and swap the whole page into the fragment.
    """
    # The URL may contain a client's text, not all of which is valid in a header.
    url = iri_to_uri(url)
    if is_htmx():
        return Response(status=204, headers={"HX-Redirect": url})
    return Response(status=303, headers={"Location": url})
