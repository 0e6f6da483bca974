"""The form of the page of imports: what was sent, and what of it cannot be."""

from dataclasses import dataclass, field

from flask import Request

from app.core.errors import Gone, NotFound
from app.database.session import reading
from app.importing import dates, formats, table
from app.importing.drafting import People
from app.importing.issues import Allowance, IssueSource
from app.projects.loaders import SeenProject, visible_by_key
from app.web.forms import Form
from app.web.guard import actor

FORMATS = (
    ("", "By how the file begins"),
    ("csv", "CSV of any tracker or spreadsheet"),
    ("jira", "Jira, its CSV"),
    ("github", "GitHub, its JSON"),
    ("jsonl", "JSON lines"),
)
# utf-8-sig is UTF-8 with or without the mark that spreadsheets put before it.
ENCODINGS = (
    ("utf-8-sig", "UTF-8"),
    ("windows-1252", "Windows-1252, Western Europe"),
    ("utf-16", "UTF-16"),
)
ORDERS = (
    ("", "As the file shows"),
    ("day", "Day first, 31/12/2026"),
    ("month", "Month first, 12/31/2026"),
)
# The fields that the page shows; those of columns are ``column-title`` and so on.
FIELDS = frozenset(
    {"project", "files", "format", "encoding", "time_zone", "days", "people", "columns"}
)
COLUMN = "column-"
# Of all files of an upload together: nothing of what one upload costs grows beyond this.
ROWS = 5_000
# The header for which columns were chosen: another file has others.
HEADER = "header"


@dataclass(slots=True)
class ImportForm:
    """An import as it was asked for; ``form.errors`` say why there can be none."""

    form: Form
    is_wet: bool = False
    project: SeenProject | None = None
    sources: list[IssueSource] = field(default_factory=list)
    known_as: dict[str, str] = field(default_factory=dict)
    options: table.Options = field(default_factory=table.Options)
    encoding: str = ENCODINGS[0][0]
    format: formats.Format | None = None
    tells_webhooks: bool = True

    @property
    def chosen(self) -> dict[str, str]:
        """The columns that were chosen, by our fields."""
        given = {name: str(self.form.value(f"{COLUMN}{name}")) for name in table.FIELDS}
        return {name: column for name, column in given.items() if column}


def read(request: Request) -> ImportForm:
    """What this request asks for."""
    asked = ImportForm(Form(raw=request.form.copy(), shown=FIELDS))
    asked.is_wet = request.form.get("do") == "import"
    asked.tells_webhooks = "webhooks" in request.form
    _read_files(asked, request)
    _read_choices(asked)
    _read_times(asked)
    _read_people(asked)
    with reading():
        _find(asked)
    return asked


def _read_files(asked: ImportForm, request: Request) -> None:
    sent = [one for one in request.files.getlist("files") if one.filename]
    names = [(one.filename or "").rpartition("/")[2].rpartition("\\")[2] for one in sent]
    allowance = Allowance(ROWS)
    asked.sources = [
        IssueSource(name, one.read(), f"{name}, " if len(sent) > 1 else "", allowance)
        for name, one in zip(names, sent, strict=True)
    ]
    if not asked.sources:
        asked.form.refuse("files", "Choose the file to import.")
    for source in asked.sources:
        if not source.content.strip():
            asked.form.refuse("files", f"{source.name} is empty.")


def _read_choices(asked: ImportForm) -> None:
    form = asked.form
    named = form.value("format")
    if named in list(formats.Format):
        asked.format = formats.Format(named)
    elif named:
        form.refuse("format", f"There is no format {named}.")
    elif asked.sources:
        asked.format = formats.detect(asked.sources[0].content)
    asked.encoding = form.value("encoding") or asked.encoding
    if asked.encoding not in dict(ENCODINGS):
        form.refuse("encoding", f"There is no encoding {asked.encoding}.")


def _read_times(asked: ImportForm) -> None:
    days = asked.form.value("days")
    if days not in dict(ORDERS):
        asked.form.refuse("days", "Choose which comes first, the day or the month.")
    date_formats = dates.slashed(day_first=days == "day") if days else ()
    try:
        zone = dates.zone_of(asked.form.value("time_zone").strip() or "UTC")
    except ValueError as error:
        asked.form.refuse("time_zone", f"{error} Write it like Europe/Berlin.")
    else:
        asked.options = table.Options(date_formats, zone)


def _read_people(asked: ImportForm) -> None:
    for number, line in enumerate(asked.form.value("people").splitlines(), start=1):
        name, _, username = (part.strip() for part in line.rpartition("="))
        if name and username:
            asked.known_as[name] = username
        elif line.strip():
            asked.form.refuse("people", f"Line {number}: write NAME = USERNAME.")


def _find(asked: ImportForm) -> None:
    """Look up what is named: the project, and people here."""
    key = asked.form.value("project").strip()
    if not key:
        asked.form.refuse("project", "Choose the project to import into.")
        return
    try:
        asked.project = visible_by_key(actor(), key)
    except Gone:
        asked.form.refuse("project", f"The project {key} was deleted.")
    except NotFound:
        asked.form.refuse("project", f"There is no project {key}.")
    else:
        unknown = People(asked.project.id, asked.known_as).unknown
        if unknown:
            message = f"No active user who may see {key} is called {unknown[0]}."
            asked.form.refuse("people", message)
