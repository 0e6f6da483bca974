"""Turning templates into answers: a whole page, one block of it, or a partial file.

A region of one page that htmx swaps is a block of that page's template; a thing that repeats is a
partial file. Both work without a script first: the same address answers the whole page.
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

from app.config import settings_at_hand
from app.core.context import request_id
from app.http.current import current_g
from app.http.responses import Reply
from app.web import choices, page_cache
from app.web.compression import accepts_gzip

HTML = "text/html; charset=utf-8"
VARY = "HX-Request, Accept-Encoding"
# No eval under the content policy, no snapshots of private text, one real load on Back, and every
# refusal shown where the reader looks.
HTMX = {
    "allowEval": False,
    "includeIndicatorStyles": False,
    "allowScriptTags": False,
    "historyCacheSize": 0,
    "refreshOnHistoryMiss": True,
    "historyRestoreAsHxRequest": False,
    "defaultSwapStyle": "outerHTML",
    # What was swapped in is made ready at once. In the usual 20 ms a click on it would go to the
    # plain link, and leave the page, and what opens would have no focus yet.
    "defaultSettleDelay": 0,
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
HTMX_CONFIG = Markup(orjson.dumps(HTMX).decode().replace("'", "&#39;"))  # noqa: S704 - our own text


def install(app: Flask) -> None:
    """Give every template what all pages show, and the macros of ``macros/ui.html`` as ``ui``."""
    env = app.jinja_env
    env.trim_blocks = True
    env.lstrip_blocks = True
    _keep_bytecode(env, app.config["SETTINGS"].instance_dir / "templates")
    env.globals["htmx_config"] = HTMX_CONFIG
    page_cache.install(app)
    with app.app_context():
        env.globals["ui"] = env.get_template("macros/ui.html").module

    app.context_processor(_shown_by_all)


def _keep_bytecode(env: Environment, directory: Path) -> None:
    """Keep compiled templates in this directory, as compiling them takes longer than all else that
    a start does.

    They are code, so nobody else may be able to write there.
    """
    with suppress(OSError):
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        is_private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
        if is_private and status.st_uid == os.geteuid():
            env.bytecode_cache = FileSystemBytecodeCache(str(directory))


def _shown_by_all() -> dict[str, Any]:
    settings = settings_at_hand()
    actor = current_g().actor
    return {
        "app_name": settings.app_name,
        "prefers": choices.chosen(),
        "me": {
            "id": actor.user_id or "",
            "type": "human",
            "username": actor.username,
            "display_name": actor.display_name or actor.username,
        },
    }


def warm(app: Flask) -> None:
    """Compile every template now, so that the first reader does not wait for it."""
    for name in app.jinja_env.list_templates(extensions=("html",)):
        app.jinja_env.get_template(name)


def is_htmx() -> bool:
    """Whether htmx asks for a fragment; a history restore wants the page (django-htmx 410)."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def html(content: str | bytes, status: int = 200) -> Response:
    """An HTML answer; caches are told that fragments and pages share addresses."""
    return Reply(content, status, {"Vary": VARY}, content_type=HTML)


def page(template: str, *, block: str = "", status: int = 200, **context: Any) -> Response:
    """The page, or only ``block`` of it where htmx asks."""
    if block and is_htmx():
        return html(render_block(template, block, **context), status)
    return html(render(template, **context), status)


def cached_page(
    template: str, key: dict[str, Any], context: Callable[[], dict[str, Any]] | None = None
) -> Response:
    """The whole page, kept by all that its context follows from.

    ``context`` makes it where no page is kept; without it, the key is the context. The template may
    show that and what all pages show, and nothing of the request.
    """
    by_all = _shown_by_all()

    def rendered() -> str:
        shown = by_all | (key if context is None else context())
        return current_app.jinja_env.get_template(template).render(shown)

    found = page_cache.cached(template, by_all | key, rendered)
    if not accepts_gzip(request.headers.get("Accept-Encoding", "")):
        return html(found.html())
    answer = html(found.gzip())
    answer.headers["Content-Encoding"] = "gzip"
    return answer


def partial(template: str, *, status: int = 200, **context: Any) -> Response:
    """A partial file alone."""
    return html(render(template, **context), status)


def render(template: str, **context: Any) -> str:
    """The text of a template, with what all pages show."""
    found = current_app.jinja_env.get_template(template)
    current_app.update_template_context(context)
    return found.render(context)


def render_block(template: str, block: str, **context: Any) -> str:
    """One block of a template. The template's own top level does not run for it."""
    found = current_app.jinja_env.get_template(template)
    current_app.update_template_context(context)
    context["is_fragment"] = True
    return "".join(found.blocks[block](found.new_context(context)))


def oob(content: str, target: str, how: str = "beforeend") -> str:
    """Wrap a fragment so that htmx puts it at ``target`` beside the main swap."""
    return f'<div hx-swap-oob="{how}:{target}">{content}</div>'


def toast(text: str, kind: str = "", href: str = "", action: str = "") -> str:
    """A short message as an out-of-band fragment."""
    ui: Any = current_app.jinja_env.globals["ui"]
    return oob(str(ui.toast(text, kind, href, action)), "#toasts")


def undo_toast(text: str, back: str, *, href: str = "", action: str = "") -> str:
    """A short message with the way back from what this request did, which leads to ``back``."""
    ui: Any = current_app.jinja_env.globals["ui"]
    shown = ui.toast(text, href=href, action=action, undo=request_id.get(), back=back)
    return oob(str(shown), "#toasts")


def with_toast(shown: Response, said: str) -> Response:
    """An answer with a short message."""
    shown.set_data(shown.get_data(as_text=True) + toast(said))
    return shown


def with_undo(shown: Response, said: str, back: str) -> Response:
    """An answer with a short message and the way back from what this request did."""
    shown.set_data(shown.get_data(as_text=True) + undo_toast(said, back))
    return shown


def go(url: str) -> Response:
    """Send the reader to another page: 303 for forms, a header for htmx.

    htmx would follow a 303 unseen and put a whole page into the fragment. The address may hold what
    a client sent, and no header takes all of that.
    """
    url = iri_to_uri(url)
    if is_htmx():
        return Response(status=204, headers={"HX-Redirect": url})
    return Response(status=303, headers={"Location": url})
