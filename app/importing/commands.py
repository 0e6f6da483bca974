"""flask import-issues."""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.core.context import telling_webhooks
from app.database.session import reading
from app.importing import dates, formats, table
from app.importing.drafting import People
from app.importing.issues import IssueSource
from app.importing.planning import plan
from app.importing.report import ImportReport
from app.importing.running import DryRun, Importer
from app.projects.command_line import WITHOUT_WEBHOOKS, acting_human, live_project_id

NONE = "-"
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import-issues")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("--project", "key", required=True, help="The key of the project to import into.")
@click.option("--as", "username", help="The human who imports; needed if there are several.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice([str(one) for one in formats.Format]),
    help="What the files are; told by how they begin unless given.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would become of each row.")
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="FIELD=COLUMN",
    help=f"CSV: which column a field is. Fields: {', '.join(table.FIELDS)}.",
)
@click.option(
    "--mapping",
    type=FILE,
    help='CSV: a JSON file of such pairs, {"title": "Name of the task"}.',
)
@click.option(
    "--ask/--no-ask",
    default=None,
    help="CSV: ask for each field's column; on a terminal it does where none is given.",
)
@click.option(
    "--user",
    "known",
    multiple=True,
    metavar="NAME=USERNAME",
    help="Who a name of the file is here, where it is neither a username nor a display name.",
)
@click.option(
    "--date-format",
    "date_formats",
    multiple=True,
    help="CSV and Jira: how times are written, such as '%m/%d/%Y %H:%M'.",
)
@click.option(
    "--time-zone",
    default="UTC",
    show_default=True,
    help="CSV and Jira: where times without a zone are meant, such as Europe/Berlin.",
)
@click.option("--encoding", default="utf-8-sig", show_default=True, help="CSV and Jira.")
@WITHOUT_WEBHOOKS
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--verbose", is_flag=True, help="List every row, and all that could not be mapped.")
def import_issues(
    files: tuple[Path, ...],
    key: str,
    username: str | None,
    format_name: str | None,
    dry_run: bool,
    mapped: tuple[str, ...],
    mapping: Path | None,
    ask: bool | None,
    known: tuple[str, ...],
    date_formats: tuple[str, ...],
    time_zone: str,
    encoding: str,
    without_webhooks: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Import issues into a project: CSV, Jira's CSV, GitHub's JSON, or JSON lines.

    Importing the same files again adds nothing twice. Try it with --dry-run first.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key)
        usernames = _pairs(known, "--user")
        unknown = People(project_id, usernames).unknown
    if unknown:
        raise click.ClickException(f"No active user who may see {key} is called {unknown[0]}.")
    report = ImportReport()
    chosen = _mapping(mapped, mapping)
    asks = (sys.stdin.isatty() and not chosen) if ask is None else ask

    def mapper(header: tuple[str, ...], guessed: dict[str, str]) -> dict[str, str]:
        columns = chosen or guessed
        return _ask_for_columns(header, columns) if asks else columns

    try:
        options = table.Options(date_formats, dates.zone_of(time_zone))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    sources = [
        IssueSource(file.name, file.read_bytes(), f"{file.name}, " if len(files) > 1 else "")
        for file in files
    ]
    try:
        format = formats.Format(format_name) if format_name else formats.detect(sources[0].content)
        issues = formats.read(sources, format, report, options, encoding, mapper)
    except ValueError as error:
        raise click.ClickException(f"Nothing was imported: {error}") from error
    planned = plan(issues, report)
    importer = (DryRun if dry_run else Importer)(actor, project_id, report, usernames)
    label = "Trying" if dry_run else "Importing"
    progress = click.progressbar(length=len(planned), label=label, file=sys.stderr)
    with progress as bar, telling_webhooks(not without_webhooks):
        importer.run(planned, bar.update)
    if as_json:
        click.echo(json.dumps(report.as_json()))
        return
    if dry_run:
        click.echo(f"A dry run of {format}: nothing is written.")
    click.echo(report.as_text(verbose=verbose or dry_run))


def _pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """Values such as ``title=Summary`` as a dictionary; raises BadParameter."""
    pairs = {}
    for pair in values:
        left, equals, right = pair.partition("=")
        if not equals or not left.strip() or not right.strip():
            raise click.BadParameter(f"{option} takes A=B, not {pair!r}.")
        pairs[left.strip()] = right.strip()
    return pairs


def _mapping(pairs: tuple[str, ...], file: Path | None) -> dict[str, str]:
    """The columns by field, from ``--mapping`` and ``--map``; raises BadParameter."""
    columns: Any = {}
    if file is not None:
        try:
            columns = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise click.BadParameter(f"{file} is not JSON.") from error
        if not isinstance(columns, dict) or not all(
            isinstance(column, str) for column in columns.values()
        ):
            raise click.BadParameter(f"{file} must be an object of fields and columns.")
    return {**columns, **_pairs(pairs, "--map")}


def _ask_for_columns(header: tuple[str, ...], proposed: dict[str, str]) -> dict[str, str]:
    click.echo(f"Columns: {', '.join(header)}\nSay {NONE} where there is none.", err=True)
    answers = {}
    for field in table.FIELDS:
        # Only the title must have a column.
        none = [] if field == table.NEEDED else [NONE]
        answers[field] = click.prompt(
            f"Column of {field}",
            default=proposed.get(field, NONE if none else None),
            value_proc=partial(_column, [*header, *none]),
            err=True,
        )
    return {field: column for field, column in answers.items() if column != NONE}


def _column(columns: Sequence[str], typed: str) -> str:
    """The typed column; case is ignored unless several columns differ in case alone."""
    name = typed.strip()
    if name in columns:
        return name
    matches = {column for column in columns if column.casefold() == name.casefold()}
    if len(matches) != 1:
        raise click.UsageError(f"There is no column {name}.")
    return matches.pop()
