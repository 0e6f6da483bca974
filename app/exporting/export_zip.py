"""What the page of exports hands out: all that one person may see, as files."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import orjson
from sqlalchemy import Connection

from app.activity import service as activity
from app.core.actor import Actor
from app.database.session import reading, session
from app.exporting.markdown import Scope, files
from app.exporting.zip_stream import Part

EVENTS = 200
# A file of events is ended there, and another one begun: tools for large files are rarer.
LARGEST = 64 * 1024 * 1024

README = """\
Exported from Docket{of}.

Markdown files with front matter, one `name: value` a line, each value JSON and so YAML:

- projects/KEY.md: a project's description, states and labels
- tickets/KEY/KEY-1.md: a ticket with its comments
- wiki/global/slug.md, wiki/KEY/slug.md: a wiki page
- sticky-notes/KEY/id.md: a note of a project; sticky-notes/personal: your own
- audit/events-1.jsonl: the audit log, if you asked for it, newest first, one JSON object a line

What changed while this was written may be in it or not. Deleted things and revisions are not in
it. For a full copy that can be restored, whoever runs the server has `flask export` and
`flask backup`.
"""


@contextmanager
def _connected() -> Iterator[Connection]:
    with reading():
        yield session.connection()


def parts(actor: Actor, project_id: str | None, key: str, *, with_events: bool) -> Iterator[Part]:
    """The files of all projects, or of this one, and the person's own notes with those of all.

    Each few rows are a unit of work of their own, and none is open between two files.
    """
    yield "README.txt", [README.format(of=f": the project {key}" if key else "").encode()]
    scope = Scope(project_id, notes_of=actor.id)
    for name, content in files(_connected, scope):
        yield name, [content]
    if with_events:
        yield from _events(actor, project_id)


def _events(actor: Actor, project_id: str | None) -> Iterator[Part]:
    pages = _pages(actor, project_id)
    for number, first in enumerate(pages, start=1):
        yield f"audit/events-{number}.jsonl", _up_to(LARGEST, first, pages)


def _up_to(most: int, first: bytes, more: Iterator[bytes]) -> Iterator[bytes]:
    written = len(first)
    yield first
    while written < most and (piece := next(more, None)) is not None:
        written += len(piece)
        yield piece


def _pages(actor: Actor, project_id: str | None) -> Iterator[bytes]:
    """Events as the audit log shows them, some at a time."""
    line = partial(orjson.dumps, option=orjson.OPT_APPEND_NEWLINE)
    cursor: str | None = None
    while True:
        with reading():
            found = activity.list_events(actor, limit=EVENTS, cursor=cursor, project_id=project_id)
        if found.data:
            yield b"".join(map(line, found.data))
        cursor = found.next_cursor
        if cursor is None:
            return
