"""flask reindex."""

import click

from app.core.text import counted
from app.database.session import reading
from app.search import messages, reindexing


@click.command("reindex")
def reindex() -> None:
    """Rebuild the search index. The server can keep running."""
    with reading():
        total = reindexing.total()
    done = 0
    with click.progressbar(length=total, label=messages.INDEXING) as bar:
        for step in reindexing.reindex():
            done += step
            bar.update(step)
    click.echo(messages.indexed(counted(done, "documents")))
