"""The form of the import page: parsing and validating it."""

from dataclasses import dataclass, field

from flask import Request

from app.core.errors import Gone, NotFound
from app.database.session import reading
from app.importing import dates, formats, messages, table
from app.importing.drafting import People
from app.importing.issues import Allowance, IssueSource
from app.projects.loaders import SeenProject, visible_by_key
from app.web.forms import Form
from app.web.guard import actor

FORMATS = (
    ("", messages.DETECT),
    ("csv", messages.CSV),
    ("jira", messages.JIRA_CSV),
    ("github", messages.GITHUB_JSON),
    ("jsonl", messages.JSON_LINES),
)
# utf-8-sig is UTF-8 with or without a byte order mark.
ENCODINGS = (("utf-8-sig", "UTF-8"), ("windows-1252", messages.WINDOWS_1252), ("utf-16", "UTF-16"))
ORDERS = (("", messages.DETECT), ("day", messages.DAY_FIRST), ("month", messages.MONTH_FIRST))
# The fields that show their own errors.
FIELDS = frozenset(
    {"project", "files", "format", "encoding", "time_zone", "days", "people", "columns"}
)
# The prefix of the fields that map columns, such as ``column-title``.
COLUMN = "column-"
# The field with the header that the columns were selected for.
HEADER = "header"
# The most rows in all files of an upload, which limits its cost.
ROWS = 5_000


@dataclass(slots=True)
class ImportForm:
    """A parsed import form; ``form.errors`` has its problems."""

    form: Form
    is_dry_run: bool
    forwards_to_webhooks: bool
    project: SeenProject | None = None
    sources: list[IssueSource] = field(default_factory=list)
    # Usernames here, by the names in the file.
    usernames: dict[str, str] = field(default_factory=dict)
    options: table.Options = field(default_factory=table.Options)
    encoding: str = ENCODINGS[0][0]
    format: formats.Format | None = None

    @property
    def mapping(self) -> dict[str, str]:
        columns = {name: str(self.form.value(f"{COLUMN}{name}")) for name in table.FIELDS}
        return {name: column for name, column in columns.items() if column}


def read(request: Request) -> ImportForm:
    submitted = ImportForm(
        Form(raw=request.form.copy(), shown=FIELDS),
        is_dry_run=request.form.get("do") != "import",
        forwards_to_webhooks="webhooks" in request.form,
    )
    _read_files(submitted, request)
    _read_format(submitted)
    _read_times(submitted)
    _read_people(submitted)
    with reading():
        _find_project_and_people(submitted)
    return submitted


def _read_files(submitted: ImportForm, request: Request) -> None:
    files = [file for file in request.files.getlist("files") if file.filename]
    allowance = Allowance(ROWS)
    for file in files:
        name = (file.filename or "").rpartition("/")[2].rpartition("\\")[2]
        prefix = f"{name}, " if len(files) > 1 else ""
        submitted.sources.append(IssueSource(name, file.read(), prefix, allowance))
    if not submitted.sources:
        submitted.form.refuse("files", messages.SELECT_A_FILE)
    for source in submitted.sources:
        if not source.content.strip():
            submitted.form.refuse("files", messages.file_empty(source.name))


def _read_format(submitted: ImportForm) -> None:
    form = submitted.form
    name = form.value("format")
    if name in list(formats.Format):
        submitted.format = formats.Format(name)
    elif name:
        form.refuse("format", messages.unknown_format(name))
    elif submitted.sources:
        submitted.format = formats.detect(submitted.sources[0].content)
    submitted.encoding = form.value("encoding") or submitted.encoding
    if submitted.encoding not in dict(ENCODINGS):
        form.refuse("encoding", messages.unknown_encoding(submitted.encoding))


def _read_times(submitted: ImportForm) -> None:
    form = submitted.form
    days = form.value("days")
    if days not in dict(ORDERS):
        form.refuse("days", messages.SELECT_DAY_OR_MONTH)
    date_formats = dates.slashed(day_first=days == "day") if days else ()
    try:
        zone = dates.zone_of(form.value("time_zone").strip() or "UTC")
    except ValueError as error:
        form.refuse("time_zone", messages.use_a_time_zone(error))
    else:
        submitted.options = table.Options(date_formats, zone)


def _read_people(submitted: ImportForm) -> None:
    for number, line in enumerate(submitted.form.value("people").splitlines(), start=1):
        name, _, username = (part.strip() for part in line.rpartition("="))
        if name and username:
            submitted.usernames[name] = username
        elif line.strip():
            submitted.form.refuse("people", messages.write_pairs(number))


def _find_project_and_people(submitted: ImportForm) -> None:
    form = submitted.form
    key = form.value("project").strip()
    if not key:
        form.refuse("project", messages.SELECT_A_PROJECT)
        return
    try:
        submitted.project = visible_by_key(actor(), key)
    except Gone:
        form.refuse("project", messages.project_deleted(key))
    except NotFound:
        form.refuse("project", messages.project_not_found(key))
    else:
        unknown = People(submitted.project.id, submitted.usernames).unknown
        if unknown:
            form.refuse("people", messages.no_such_user(unknown[0], key))
