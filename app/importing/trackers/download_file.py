"""The download of one import: a file of pages, which a later run continues.

Each line has a page and the position of the next page, so both are stored together or not at
all. A line that was cut off when a run was killed is removed.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from app.importing.trackers import messages
from app.importing.trackers.client import TrackerError

FOLDER = "imports"
MAX_BYTES = 8 * 1024**3
# The most pages of all lists together, in case a tracker never ends a list.
MAX_PAGES = 200_000
HEADER = "import"


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """Items of a page, and the position of the next page; None after the last one."""

    items: list[Any]
    next: str | None


class DownloadFile:
    """The download file of a source; only one run at a time can open it."""

    def __init__(self, instance_dir: Path, source: dict[str, Any], *, fresh: bool = False) -> None:
        """``source`` describes what is downloaded; each source has its own file.

        ``fresh`` discards the download of an earlier run. Raises TrackerError while another run
        uses the file.
        """
        name = hashlib.sha256(orjson.dumps(source, option=orjson.OPT_SORT_KEYS)).hexdigest()[:24]
        folder = instance_dir / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{name}.jsonl"
        self._file = _open_locked(self.path)
        # By step: the position of the next page, or None after the last page.
        self._next: dict[str, str | None] = {}
        self._counts: dict[str, int] = {}
        self._pages = 0
        self.started_at = time.time()
        self.has_earlier = False
        if fresh:
            self._file.truncate(0)
        self._recover(source)

    def _recover(self, source: dict[str, Any]) -> None:
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(self._file):
            try:
                entry: Any = orjson.loads(line) if line.endswith(b"\n") else {}
                if number == 0:
                    self.started_at = float(entry[HEADER])
                else:
                    self._note(entry["step"], entry["items"], entry["next"])
                    self.has_earlier = True
            except (ValueError, KeyError, TypeError):
                break
            whole += len(line)
        self._file.truncate(whole)
        self._file.seek(whole)
        if whole == 0:
            self._write({HEADER: self.started_at, "source": source})

    def _note(self, step: str, items: list[Any], following: str | None) -> None:
        self._pages += 1
        self._next[step] = following
        self._counts[step] = self._counts.get(step, 0) + len(items)

    def is_done(self, step: str) -> bool:
        return step in self._next and self._next[step] is None

    def position(self, step: str) -> str | None:
        """Where the step continues; None at its beginning."""
        return self._next.get(step)

    def count(self, step: str) -> int:
        """The number of downloaded items of a step."""
        return self._counts.get(step, 0)

    def append(self, step: str, page: FetchedPage) -> None:
        """Store a page; raises TrackerError if the download gets too large."""
        if self._pages >= MAX_PAGES:
            raise TrackerError(messages.too_many_pages(MAX_PAGES))
        self._write({"step": step, "items": page.items, "next": page.next})
        self._note(step, page.items, page.next)

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(orjson.dumps(entry) + b"\n")
        self._file.flush()
        if self._file.tell() > MAX_BYTES:
            raise TrackerError(messages.DOWNLOAD_TOO_LARGE)

    def items(self, step: str) -> Iterator[Any]:
        """The downloaded items of a step, in order."""
        # The beginning that ``append`` writes, so that lines of other steps need no parsing.
        beginning = orjson.dumps({"step": step})[:-1] + b","
        with self.path.open("rb") as lines:
            for line in lines:
                if line.startswith(beginning):
                    yield from orjson.loads(line)["items"]

    def close(self, *, remove: bool) -> None:
        """Release the file for other runs; ``remove`` deletes it first."""
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()


def _open_locked(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    file = os.fdopen(descriptor, "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise TrackerError(messages.OTHER_RUN_IMPORTS) from error
    return file
