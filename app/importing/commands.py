"""flask import-issues."""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from app.audit.service import forwarding_to_webhooks
from app.database.session import reading
from app.importing import dates, formats, messages, table
from app.importing.command_options import NAMED_USERS, json_pairs, named_users, pairs
from app.importing.drafting import People
from app.importing.dry_run import DryRun
from app.importing.issues import IssueSource
from app.importing.planning import plan
from app.importing.report import ImportReport
from app.importing.running import Importer
from app.projects.command_line import WITHOUT_WEBHOOKS, acting_human, live_project_id

NONE = "-"
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import-issues")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("--project", "key", required=True, help="Key of the project to import into.")
@click.option("--as", "username", help="The person who imports. Required if there are several.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice([str(one) for one in formats.Format]),
    help="Format of the files. Detected by default.",
)
@click.option("--dry-run", is_flag=True, help="Preview each row without importing.")
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="FIELD=COLUMN",
    help=f"CSV: the column of a field. Fields: {', '.join(table.FIELDS)}.",
)
@click.option(
    "--mapping",
    type=FILE,
    help='CSV: a JSON file of fields and columns, {"title": "Task name"}.',
)
@click.option(
    "--ask/--no-ask",
    default=None,
    help="CSV: ask for the column of each field. On by default on a terminal without a mapping.",
)
@NAMED_USERS
@click.option(
    "--date-format",
    "date_formats",
    multiple=True,
    help="CSV and Jira: format of times, such as '%m/%d/%Y %H:%M'.",
)
@click.option(
    "--time-zone",
    default="UTC",
    show_default=True,
    help="CSV and Jira: time zone of times without one, such as Europe/Berlin.",
)
@click.option("--encoding", default="utf-8-sig", show_default=True, help="CSV and Jira.")
@WITHOUT_WEBHOOKS
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--verbose", is_flag=True, help="List every row and every change.")
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

    Importing the same files again creates no duplicates. Preview with --dry-run first.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key)
        usernames = named_users(known, None)
        unknown = People(project_id, usernames).unknown
    if unknown:
        raise click.ClickException(messages.no_such_user(unknown[0], key))
    report = ImportReport()
    columns = json_pairs(mapping, messages.FIELDS_AND_COLUMNS) if mapping is not None else {}
    chosen = {**columns, **pairs(mapped, "--map")}
    asks = (sys.stdin.isatty() and not chosen) if ask is None else ask

    def mapper(header: tuple[str, ...], guessed: dict[str, str]) -> dict[str, str]:
        columns = chosen or guessed
        return _ask_for_columns(header, columns) if asks else columns

    try:
        formats_of_times = tuple(map(dates.checked_format, date_formats))
        options = table.Options(formats_of_times, dates.zone_of(time_zone))
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
        raise click.ClickException(messages.nothing_imported(error)) from error
    planned = plan(issues, report)
    importer = (DryRun if dry_run else Importer)(actor, project_id, report, usernames)
    label = messages.PREVIEWING if dry_run else messages.IMPORTING
    progress = click.progressbar(length=len(planned), label=label, file=sys.stderr)
    with progress as bar, forwarding_to_webhooks(not without_webhooks):
        importer.run(planned, bar.update)
    if as_json:
        click.echo(json.dumps(report.as_json()))
        return
    if dry_run:
        click.echo(messages.preview_of(format))
    click.echo(report.as_text(verbose=verbose or dry_run))


def _ask_for_columns(header: tuple[str, ...], proposed: dict[str, str]) -> dict[str, str]:
    click.echo(messages.columns(", ".join(header), NONE), err=True)
    answers = {}
    for field in table.FIELDS:
        # Only the title must have a column.
        none = [] if field == table.NEEDED else [NONE]
        answers[field] = click.prompt(
            messages.column_for(field),
            default=proposed.get(field, NONE if none else None),
            value_proc=partial(_column, [*header, *none]),
            err=True,
        )
    return {field: column for field, column in answers.items() if column != NONE}


def _column(columns: Sequence[str], typed: str) -> str:
    """The typed column; ignores case unless several columns differ only in case."""
    name = typed.strip()
    if name in columns:
        return name
    matches = {column for column in columns if column.casefold() == name.casefold()}
    if len(matches) != 1:
        raise click.UsageError(messages.unknown_column(name))
    return matches.pop()
