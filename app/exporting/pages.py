"""The export page: everything that a person may see, as a zip file streamed while it is made."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice

import orjson
from flask import Blueprint, Response, request
from sqlalchemy import Connection

from app.activity import service as activity
from app.core.actor import Actor
from app.core.clock import iso, now_ms
from app.core.lanes import Lane, require
from app.database.session import reading, session
from app.exporting import messages
from app.exporting.markdown import ExportScope, files
from app.projects.loaders import visible_by_key
from app.projects.pages import project_options
from app.web.downloads import streamed
from app.web.guard import actor
from app.web.render import page

# The name of a file in the archive, and its content in chunks.
Part = tuple[str, Iterable[bytes]]

# The minimum number of bytes per chunk.
PIECE = 64 * 1024
READABLE = 0o644
# Characters that some file systems do not allow in a name.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')
_ONLY_DOTS = re.compile(r"\.*\Z")

# Events per unit of work.
EVENTS = 200
# Larger event data continues in another file, as few tools open larger files.
MAX_EVENT_FILE_BYTES = 64 * 1024 * 1024


pages = Blueprint("export_pages", __name__)


@pages.get("/export")
def export_page() -> Response:
    with reading():
        options = project_options()
    return page("moving/export.html", options=options, chosen=request.args.get("project", ""))


@pages.get("/export/archive.zip")
def download() -> Response:
    """The archive of all projects or of the named one; raises NotFound and Gone."""
    require(Lane.LONG)
    key = request.args.get("project", "")
    with reading():
        project = visible_by_key(actor(), key) if key else None
    with_events = request.args.get("events") == "on"
    parts = _parts(actor(), project.id if project else None, key, with_events=with_events)
    # Read the first rows before the response starts, so that an outage shows an error page.
    first = list(islice(parts, 2))
    name = f"docket-{key.lower() or 'all'}-{iso(now_ms())[:10]}.zip"
    return streamed(zipped(chain(first, parts)), "application/zip", name)


def _parts(actor: Actor, project_id: str | None, key: str, *, with_events: bool) -> Iterator[Part]:
    """The files of all projects and the person's own notes, or the files of one project.

    Each batch of rows has its own unit of work, and none is open between two files.
    """
    yield (
        "README.txt",
        [messages.README.format(of=messages.of_project(key) if key else "").encode()],
    )
    scope = ExportScope(project_id, notes_of=actor.id)
    for name, content in files(_read_connection, scope):
        yield name, [content]
    if with_events:
        batches = _event_batches(actor, project_id)
        for number, first in enumerate(batches, start=1):
            yield f"audit/events-{number}.jsonl", _up_to(MAX_EVENT_FILE_BYTES, first, batches)


@contextmanager
def _read_connection() -> Iterator[Connection]:
    with reading():
        yield session.connection()


def _event_batches(actor: Actor, project_id: str | None) -> Iterator[bytes]:
    """Events as JSON lines, in audit log order."""
    line = partial(orjson.dumps, option=orjson.OPT_APPEND_NEWLINE)
    cursor: str | None = None
    while True:
        with reading():
            batch = activity.list_events(actor, limit=EVENTS, cursor=cursor, project_id=project_id)
        if batch.data:
            yield b"".join(map(line, batch.data))
        cursor = batch.next_cursor
        if cursor is None:
            return


def _up_to(max_bytes: int, first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    """``first`` and the following chunks, until ``max_bytes`` are reached."""
    length = len(first)
    yield first
    while length < max_bytes and (piece := next(others, None)) is not None:
        length += len(piece)
        yield piece


class _Pipe(io.RawIOBase):
    """Buffers the archive's output until ``take``; cannot seek."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.length = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: "bytes") -> int:  # type: ignore[override]  # any buffer would do
        self._pieces.append(bytes(piece))
        self.length += len(piece)
        return len(piece)

    def take(self) -> bytes:
        """The bytes written after the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        self.length = 0
        return taken


def zipped(parts: Iterable[Part]) -> Iterator[bytes]:
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
    """A safe name: it stays inside the folder that the archive is unpacked into."""
    return "/".join(
        "_" if _ONLY_DOTS.match(part) else _UNSAFE.sub("_", part) for part in name.split("/")
    )
