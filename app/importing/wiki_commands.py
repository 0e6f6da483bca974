"""Commands about the wiki."""

import sys
from pathlib import Path

import click

from app.core.context import telling_webhooks
from app.database.session import reading
from app.importing.wiki_folder import Report, read, run
from app.projects.command_line import (
    WITHOUT_WEBHOOKS,
    acting_human,
    live_project_id,
)


@click.command("import-wiki")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--project", "key", help="The key of the project to import into; global if absent.")
@click.option("--as", "username", help="The human who imports; needed if there are several.")
@WITHOUT_WEBHOOKS
def import_wiki(
    folder: Path, key: str | None, username: str | None, without_webhooks: bool
) -> None:
    """Import a folder of Markdown files as wiki pages.

    Importing the same folder again changes nothing; a file that changed becomes a new revision.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key) if key else None
    report = Report()
    sources = read(folder, report)
    progress = click.progressbar(length=len(sources), label="Importing", file=sys.stderr)
    with progress as bar, telling_webhooks(not without_webhooks):
        run(actor, project_id, sources, report, bar.update)
    click.echo(report.as_text())
