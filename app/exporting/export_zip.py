"""What the page of exports hands out: all that one person may see, as files."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import orjson
from sqlalchemy import Connection

from app.activity import service as activity
from app.core.actor import Actor
from app.database.session import reading, session
from app.exporting.markdown import ExportScope, files

# The name of a file in the archive, and what is in it, piece by piece.
Part = tuple[str, Iterable[bytes]]

# What is sent at once, at least, but for the last.
PIECE = 64 * 1024
READABLE = 0o644
# What file systems take for something other than a letter of a name.
_ODD = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
_ONLY_DOTS = re.compile(r"\.*\Z")


class _Pipe(io.RawIOBase):
    """Takes what the archive writes, and hands it on; nobody can go back in it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.length = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, piece: "bytes") -> int:  # type: ignore[override]  # any buffer would do
        """Keep a copy until it is taken."""
        self._pieces.append(bytes(piece))
        self.length += len(piece)
        return len(piece)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        self.length = 0
        return taken


def zipped(parts: Iterable[Part]) -> Iterator[bytes]:
    """The archive of these files, in pieces."""
    pipe = _Pipe()
    now = datetime.now(UTC).timetuple()[:6]
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts:
            info = zipfile.ZipInfo(inside(name), date_time=now)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = READABLE << 16
            with archive.open(info, "w") as file:
                for piece in content:
                    file.write(piece)
                    if pipe.length >= PIECE:
                        yield pipe.take()
            if pipe.length >= PIECE:
                yield pipe.take()
    yield pipe.take()


def inside(name: str) -> str:
    """The name such that it stays in the folder that the archive is unpacked into."""
    return "/".join(
        "_" if _ONLY_DOTS.match(part) else _ODD.sub("_", part) for part in name.split("/")
    )


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
    scope = ExportScope(project_id, notes_of=actor.id)
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
