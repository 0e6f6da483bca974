"""The import page: a dry run of an uploaded file, then the import of the same file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flask import Blueprint, Response, g, request

from app.audit.service import forwarding_to_webhooks
from app.core.errors import Gone, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.importing import formats, messages, table
from app.importing import import_form as forms
from app.importing.dry_run import DryRun
from app.importing.import_form import COLUMN, HEADER, ImportForm
from app.importing.issues import TooMuch
from app.importing.planning import Planned, plan
from app.importing.report import ImportReport, SoFar
from app.importing.running import Importer
from app.projects.pages import project_options
from app.web.downloads import line
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import page

pages = Blueprint("import_pages", __name__)

# Rows (tickets, comments, labels and relations) that one request writes. An issue takes about
# four milliseconds on SQLite, so a request ends before a browser or a proxy times out.
MAX_REQUEST_ROWS = 1_000
# Rows of one upload, over all of its requests.
MAX_UPLOAD_ROWS = 20_000
MAX_COLUMNS = 500
# Rows on the page; the downloaded report has all rows.
SHOWN_ROWS = 200
# The form field with the totals of the earlier requests.
SO_FAR = "so-far"
COLUMNS = ("where", "issue", "outcome", "ticket", "type", "state", "priority", "assignee", "title")
MORE = ("reason", "detail")


@dataclass(slots=True)
class Upload:
    """A submitted form, the content of its files, and the result of the run.

    ``form.errors`` explains why there was no run.
    """

    submitted: ImportForm
    report: ImportReport = field(default_factory=ImportReport)
    planned: list[Planned] = field(default_factory=list)
    # For a CSV file: its header, and the selected column of each field.
    header: tuple[str, ...] = ()
    mapping: dict[str, str] = field(default_factory=dict)
    # How many issues are left, and how many still have relations to write.
    left: int = 0
    unlinked: int = 0
    so_far: SoFar = field(default_factory=SoFar)

    @property
    def total(self) -> int:
        return len(self.planned)

    @property
    def form(self) -> Form:
        return self.submitted.form

    @property
    def header_key(self) -> str:
        """Identifies the header that the columns were selected for."""
        return "\t".join(self.header)[:2000]

    @property
    def is_partial(self) -> bool:
        """Whether another request must continue the import."""
        return not self.submitted.is_dry_run and bool(self.left or self.unlinked)


@pages.get("/import")
def import_page() -> Response:
    return _page()


@pages.post("/import")
def try_or_import() -> Response:
    upload = _read_upload()
    if upload.form.errors:
        return _page(upload, status=422)
    try:
        _run(upload)
    except (Gone, NotFound) as error:
        # The project was deleted meanwhile.
        upload.form.refuse("project", error.message)
        return _page(upload, status=422)
    return _page(upload, has_run=True)


@pages.post("/import/report")
def report_of_file() -> Response:
    """All rows and notes of a dry run as CSV, with the tickets that exist already."""
    upload = _read_upload()
    if upload.form.errors:
        return _page(upload, status=422)
    project = upload.submitted.project
    assert project is not None  # noqa: S101 - for the type checker: without errors there is one
    DryRun(actor(), project.id, upload.report, upload.submitted.usernames).explain(upload.planned)
    response = Response("".join(_csv_lines(upload.report)).encode("utf-8-sig"), mimetype="text/csv")
    response.headers["Content-Disposition"] = 'attachment; filename="import-report.csv"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _read_upload() -> Upload:
    require(Lane.LONG)
    upload = Upload(forms.read(request))
    if upload.form.errors:
        return upload
    try:
        upload.planned = _plan(upload)
    except TooMuch as error:
        upload.form.refuse("files", messages.upload_too_large(error, forms.ROWS, MAX_UPLOAD_ROWS))
    except ValueError as error:
        text = str(error)
        sentence = text if text.endswith((".", "?")) else f"{text}."
        upload.form.refuse("columns" if upload.header else "files", sentence)
    return upload


def _plan(upload: Upload) -> list[Planned]:
    """The issues of the files, parents first; raises ValueError and TooMuch."""
    submitted = upload.submitted

    def mapper(header: tuple[str, ...], guessed: dict[str, str]) -> dict[str, str]:
        if len(set(header)) > MAX_COLUMNS:
            raise ValueError(messages.too_many_columns(MAX_COLUMNS))
        upload.header = header
        is_same = upload.form.value(HEADER) == upload.header_key
        upload.mapping = submitted.mapping if is_same else guessed
        return upload.mapping

    assert submitted.format is not None  # noqa: S101 - for the type checker, as above
    issues = formats.read(
        submitted.sources,
        submitted.format,
        upload.report,
        submitted.options,
        submitted.encoding,
        mapper,
    )
    rows = sum(issue.row_count for issue in issues)
    if rows > MAX_UPLOAD_ROWS:
        raise TooMuch(messages.too_much(rows))
    return plan(issues, upload.report)


def _run(upload: Upload) -> None:
    submitted = upload.submitted
    assert submitted.project is not None  # noqa: S101 - for the type checker, as above
    importer = (DryRun if submitted.is_dry_run else Importer)(
        actor(),
        submitted.project.id,
        upload.report,
        submitted.usernames,
        # Each batch checks the session again, like every write of a page.
        write=lambda work: write(lambda _: work()),
        max_created=None if submitted.is_dry_run else MAX_REQUEST_ROWS,
    )
    with forwarding_to_webhooks(submitted.forwards_to_webhooks):
        importer.run(upload.planned, lambda _: None)
    upload.left, upload.unlinked = importer.left, importer.unlinked
    if submitted.is_dry_run:
        upload.so_far = SoFar().plus(upload.report)
    else:
        earlier = SoFar.parse(upload.form.raw.get(SO_FAR, ""))
        upload.so_far = earlier.plus(upload.report, g.request_id)


def _page(upload: Upload | None = None, *, has_run: bool = False, status: int = 200) -> Response:
    form = upload.form if upload else Form()
    with reading():
        options = project_options()
    context: dict[str, Any] = {
        "form": form,
        "projects": options,
        "formats": forms.FORMATS,
        "encodings": forms.ENCODINGS,
        "orders": forms.ORDERS,
        "project_key": request.args.get("project", ""),
        "forwards_to_webhooks": "webhooks" in form.raw if form.raw else True,
        "columns": _column_fields(upload) if upload and upload.header else [],
        "header": upload.header_key if upload else "",
        "done": upload if has_run else None,
    }
    if upload and has_run:
        context |= {
            "rows": upload.report.rows[:SHOWN_ROWS],
            "shown": SHOWN_ROWS,
            "request_id": g.request_id,
        }
    return page("moving/import.html", block="answer", status=status, **context)


def _column_fields(upload: Upload) -> list[dict[str, Any]]:
    columns = [(name, name) for name in dict.fromkeys(upload.header) if name]
    return [
        {
            "name": f"{COLUMN}{name}",
            "label": messages.field_label(name),
            "options": [("", messages.NO_COLUMN), *columns],
            "value": upload.mapping.get(name, ""),
        }
        for name in table.FIELDS
    ]


def _csv_lines(report: ImportReport) -> Iterator[str]:
    yield line((*COLUMNS, *MORE))
    for row in report.rows:
        yield line([*(getattr(row, name) for name in COLUMNS), "", ""])
    for issue, reason, detail in report.notes:
        yield line(["", issue, "note", *[""] * (len(COLUMNS) - 3), reason, detail])
