"""Commands about tickets."""

import json
import sys
from pathlib import Path

import click

from app.core.db import reading
from app.projects.command_line import acting_human, live_project_id
from app.tickets.importing.planning import plan
from app.tickets.importing.reading import read
from app.tickets.importing.report import Report
from app.tickets.importing.running import Importer


@click.command("import-issues")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--project", "key", required=True, help="The key of the project to import into.")
@click.option("--as", "username", help="The human who imports; needed if there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--verbose", is_flag=True, help="List every issue that could not be mapped as it was."
)
def import_issues(file: Path, key: str, username: str | None, as_json: bool, verbose: bool) -> None:
    """Import issues from a file of JSON lines into a project.

    Importing the same file again adds nothing twice.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key)
    report = Report()
    with file.open("rb") as lines:
        planned = plan(list(read(lines, report)), report)
    importer = Importer(actor, project_id, report)
    with click.progressbar(length=len(planned), label="Importing", file=sys.stderr) as bar:
        importer.run(planned, bar.update)
    click.echo(json.dumps(report.as_json()) if as_json else report.as_text(verbose=verbose))
