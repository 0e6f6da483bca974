"""Everything that one may see as a zip of Markdown, written while it is sent."""

from itertools import chain, islice

from flask import Blueprint, Response, request

from app.core.clock import iso, now_ms
from app.core.lanes import Lane, require
from app.database.session import reading
from app.exporting import export_zip
from app.exporting.export_zip import zipped
from app.projects.loaders import visible_by_key
from app.projects.pages.blueprint import project_options
from app.web.downloads import streamed
from app.web.guard import actor
from app.web.render import page

pages = Blueprint("export_pages", __name__)


@pages.get("/export")
def export_page() -> Response:
    """Say what can be taken along, and how."""
    with reading():
        options = project_options()
    return page("moving/export.html", options=options, chosen=request.args.get("project", ""))


@pages.get("/export/archive.zip")
def download() -> Response:
    """The archive of all projects, or of the one that is named; raises NotFound or Gone."""
    require(Lane.LONG)
    key = request.args.get("project", "")
    with reading():
        project = visible_by_key(actor(), key) if key else None
    written = export_zip.parts(
        actor(),
        project.id if project else None,
        key,
        with_events=request.args.get("events") == "on",
    )
    # The first rows are read now: where the database is away, that is said on a page.
    first = list(islice(written, 2))
    name = f"docket-{key.lower() or 'all'}-{iso(now_ms())[:10]}.zip"
    return streamed(zipped(chain(first, written)), "application/zip", name)
