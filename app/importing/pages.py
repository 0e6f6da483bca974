"""Importing issues from a file in the browser: first a try, then the same for good.

What an import does is the business of ``app/tickets/importing``, which the command uses as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flask import Blueprint, Response, g, request

from app.core.context import telling_webhooks
from app.core.errors import Gone, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.importing import formats, table
from app.importing import import_form as forms
from app.importing.import_form import COLUMN, HEADER, ImportForm
from app.importing.issues import TooMuch
from app.importing.planning import Planned, plan
from app.importing.report import ImportReport
from app.importing.running import Importer, Trial
from app.importing.so_far import SoFar
from app.projects.pages.blueprint import project_options
from app.web.downloads import line
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import page

pages = Blueprint("import_pages", __name__)


# Tickets, comments, labels and relations that one request makes. On SQLite the issues of a real
# tracker take four milliseconds each, so that no browser and no proxy gives the request up.
MOST = 1_000
# Of one upload, in as many requests as it takes.
THINGS = 20_000
# A column is a choice for each of our fields.
NAMED_COLUMNS = 500
# Rows of the report on the page; its file has all.
SHOWN = 200
# The field of the form that brings along what the requests before have made.
SO_FAR = "so-far"
COLUMNS = ("where", "issue", "outcome", "ticket", "type", "state", "priority", "assignee", "title")
MORE = ("reason", "detail")


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a try or an import."""

    asked: ImportForm
    report: ImportReport
    format: str
    # All issues that are to be tickets, and how many of them are still to come.
    total: int = 0
    left: int = 0
    unlinked: int = 0
    so_far: SoFar = field(default_factory=SoFar)

    @property
    def is_partial(self) -> bool:
        """Whether another request has to go on."""
        return self.asked.is_wet and bool(self.left or self.unlinked)


@dataclass(slots=True)
class Columns:
    """The columns of a CSV file: all, and those that were taken for our fields."""

    header: tuple[str, ...] = ()
    chosen: dict[str, str] | None = None

    @property
    def mark(self) -> str:
        """By what the header is known again."""
        return "\t".join(self.header)[:2000]


@pages.get("/import")
def import_page() -> Response:
    """Ask for a file."""
    return _page(Form())


@pages.post("/import")
def try_or_import() -> Response:
    """Try the file, or import it; the page says what came of it."""
    require(Lane.LONG)
    asked = forms.read(request)
    columns, report = Columns(), ImportReport()
    planned = _planned(asked, report, columns)
    if planned is None:
        return _page(asked.form, columns=columns, status=422)
    try:
        done = _run(asked, planned, report)
    except (Gone, NotFound) as error:
        # Deleted meanwhile.
        asked.form.refuse("project", error.message)
        return _page(asked.form, columns=columns, status=422)
    return _page(asked.form, columns=columns, done=done)


@pages.post("/import/report")
def report_of_file() -> Response:
    """All rows and notes of the file as CSV, with the tickets that are there; writes nothing."""
    require(Lane.LONG)
    asked = forms.read(request)
    columns, report = Columns(), ImportReport()
    planned = _planned(asked, report, columns)
    if planned is None:
        return _page(asked.form, columns=columns, status=422)
    assert asked.project is not None  # noqa: S101 - for the type checker: without errors there is one
    Trial(actor(), asked.project.id, report, asked.known_as).explain(planned)
    response = Response("".join(_as_csv(report)).encode("utf-8-sig"), mimetype="text/csv")
    response.headers["Content-Disposition"] = 'attachment; filename="import-report.csv"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _planned(asked: ImportForm, report: ImportReport, columns: Columns) -> list[Planned] | None:
    """The issues of the files in order; None where the errors of the form say why not."""
    if asked.form.errors:
        return None
    try:
        return _read(asked, report, columns)
    except TooMuch as error:
        asked.form.refuse(
            "files",
            f"{error}. One upload brings at most {forms.ROWS:,} rows and {THINGS:,} tickets, "
            "comments, labels and relations: split the file, or have the operator run "
            "'flask import-issues', which takes any number.",
        )
    except ValueError as error:
        asked.form.refuse("columns" if columns.header else "files", _sentence(str(error)))
    return None


def _read(asked: ImportForm, report: ImportReport, columns: Columns) -> list[Planned]:
    def mapper(header: tuple[str, ...], guessed: dict[str, str]) -> dict[str, str]:
        if len(set(header)) > NAMED_COLUMNS:
            raise ValueError(f"The file has more than {NAMED_COLUMNS} columns")
        columns.header = header
        is_same = asked.form.value(HEADER) == columns.mark
        columns.chosen = asked.chosen if is_same else guessed
        return columns.chosen

    assert asked.format is not None  # noqa: S101 - for the type checker: without errors there is one
    issues = formats.read(
        asked.sources, asked.format, report, asked.options, asked.encoding, mapper
    )
    things = sum(issue.things for issue in issues)
    if things > THINGS:
        raise TooMuch(f"The file has {things:,} tickets, comments, labels and relations")
    return plan(issues, report)


def _run(asked: ImportForm, planned: list[Planned], report: ImportReport) -> Done:
    assert asked.project is not None  # noqa: S101 - as above
    run = Importer if asked.is_wet else Trial
    importer = run(
        actor(),
        asked.project.id,
        report,
        asked.known_as,
        # Each batch judges the session anew, as every write of a page does.
        write=lambda work: write(lambda _: work()),
        most=MOST if asked.is_wet else None,
    )
    with telling_webhooks(asked.tells_webhooks):
        importer.run(planned, lambda _: None)
    so_far = SoFar.of(asked.form.raw.get(SO_FAR, "")) if asked.is_wet else SoFar()
    return Done(
        asked,
        report,
        str(asked.format),
        len(planned),
        importer.left,
        importer.unlinked,
        so_far.and_then(report),
    )


def _page(
    form: Form, *, columns: Columns | None = None, done: Done | None = None, status: int = 200
) -> Response:
    with reading():
        options = project_options()
    context: dict[str, Any] = {
        "form": form,
        "projects": options,
        "formats": forms.FORMATS,
        "encodings": forms.ENCODINGS,
        "orders": forms.ORDERS,
        "project_key": request.args.get("project", ""),
        "tells_webhooks": "webhooks" in form.raw if form.raw else True,
        "columns": _column_fields(columns) if columns and columns.header else [],
        "header": columns.mark if columns else "",
        "done": done,
    }
    if done is not None:
        context |= {
            "rows": done.report.rows[:SHOWN],
            "shown": SHOWN,
            "request_id": g.request_id,
        }
    return page("moving/import.html", block="answer", status=status, **context)


def _column_fields(columns: Columns) -> list[dict[str, Any]]:
    """A field for each of ours, with the column that was chosen."""
    every = [(name, name) for name in dict.fromkeys(columns.header) if name]
    return [
        {
            "name": f"{COLUMN}{name}",
            "label": name.replace("_", " ").capitalize(),
            "options": [("", "No column"), *every],
            "value": (columns.chosen or {}).get(name, ""),
        }
        for name in table.FIELDS
    ]


def _as_csv(report: ImportReport) -> Iterator[str]:
    """All rows, then all notes."""
    yield line((*COLUMNS, *MORE))
    for row in report.rows:
        yield line([*(getattr(row, name) for name in COLUMNS), "", ""])
    for issue, reason, detail in report.notes:
        yield line(["", issue, "note", *[""] * (len(COLUMNS) - 3), reason, detail])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
