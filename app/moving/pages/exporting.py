"""Everything that one may see as a zip of Markdown, written while it is sent."""

import logging
from collections.abc import Iterator
from itertools import chain, islice

from flask import Response, request, stream_with_context

from app.core.clock import iso, now_ms
from app.core.context import STREAMED
from app.core.db import reading
from app.moving import leaving
from app.moving.archive import Part, zipped
from app.moving.pages.blueprint import pages, project_options
from app.projects.loaders import visible_by_key
from app.web.guard import actor
from app.web.render import page

log = logging.getLogger(__name__)


@pages.get("/export")
def export_page() -> Response:
    """Say what can be taken along, and how."""
    with reading():
        options = project_options()
    return page("moving/export.html", options=options, chosen=request.args.get("project", ""))


@pages.get("/export/archive.zip")
def download() -> Response:
    """The archive of all projects, or of the one that is named; raises NotFound or Gone."""
    key = request.args.get("project", "")
    with reading():
        project = visible_by_key(actor(), key) if key else None
    written = leaving.parts(
        actor(),
        project.id if project else None,
        key,
        with_events=request.args.get("events") == "on",
    )
    # The first rows are read now: where the database is away, that is said on a page.
    first = list(islice(written, 2))
    response = Response(
        stream_with_context(_to_its_end(chain(first, written))), mimetype="application/zip"
    )
    name = f"docket-{key.lower() or 'all'}-{iso(now_ms())[:10]}.zip"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    request.environ[STREAMED] = True
    return response


def _to_its_end(parts: Iterator[Part]) -> Iterator[bytes]:
    try:
        yield from zipped(parts)
    except Exception as error:
        # The answer has begun, so nothing else can be said; without its end the zip is none.
        log.error("an export broke off: %s", type(error).__name__)  # noqa: TRY400 - raised on
        raise
