"""The store of file contents: a folder or a bucket, by SHA-256.

A row of ``file_contents`` exists only while the store has its content. ``ensure`` is called in the
transaction that inserts the row, and ``discard`` in one that has found no row. Both hold
``Lock.FILES``, so neither undoes the other. A crash can leave a content without a row, which a
sweep discards, but never a row without its content.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from app.config import Settings

PIECE_BYTES = 64 * 1024
# A content without a row is discarded this long after it was stored.
GRACE_SECONDS = 60 * 60
# Files that a crashed upload left behind are deleted after this.
LEFTOVER_SECONDS = 24 * 60 * 60


class ContentMissing(Exception):
    """The store does not have this content."""


@dataclass(frozen=True, slots=True)
class NewContent:
    """A content to store, in a temporary file."""

    sha256: str
    size: int
    path: Path

    @classmethod
    def of(cls, path: Path) -> Self:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(digest, path.stat().st_size, path)


class Store(Protocol):
    """A store of contents; a read raises ContentMissing."""

    def problem(self) -> str | None:
        """Why the store is unusable, in words for the operator; None if it is usable."""

    def prepare(self, content: NewContent) -> None:
        """Do the slow part of storing, before the transaction."""

    def ensure(self, content: NewContent) -> None:
        """Make sure that the content is stored, in the transaction of its row."""

    def read(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The content or a part of it, in chunks; raises at once, not at the first chunk."""

    def size(self, sha256: str) -> int: ...

    def old(self) -> Iterator[str]:
        """The contents that were stored longer than GRACE_SECONDS ago."""

    def discard(self, contents: Sequence[str]) -> None:
        """Delete contents, except those stored again meanwhile."""


class FolderStore:
    """Contents in a folder on this machine: ``ab/ab12...`` for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256

    def problem(self) -> str | None:
        return None

    def prepare(self, content: NewContent) -> None:
        with content.path.open("rb") as file:
            os.fsync(file.fileno())

    def ensure(self, content: NewContent) -> None:
        path = self._path(content.sha256)
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync(self._folder)
        try:
            # Replace an existing content too, which renews its age and repairs damage.
            content.path.replace(path)
        except FileNotFoundError:
            # The transaction runs again: the file has already been moved.
            os.utime(path)
        _sync(path.parent)

    def read(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        try:
            file = self._path(sha256).open("rb")
        except FileNotFoundError:
            raise ContentMissing(sha256) from None

        def pieces() -> Iterator[bytes]:
            left = length
            with file:
                file.seek(start)
                while piece := file.read(PIECE_BYTES if left is None else min(left, PIECE_BYTES)):
                    left = None if left is None else left - len(piece)
                    yield piece

        return pieces()

    def size(self, sha256: str) -> int:
        try:
            return self._path(sha256).stat().st_size
        except FileNotFoundError:
            raise ContentMissing(sha256) from None

    def old(self) -> Iterator[str]:
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            if _is_old(path):
                yield path.name

    def discard(self, contents: Sequence[str]) -> None:
        for path in map(self._path, contents):
            if _is_old(path):
                path.unlink(missing_ok=True)


def _is_old(path: Path, seconds: float = GRACE_SECONDS) -> bool:
    try:
        return path.stat().st_mtime < time.time() - seconds
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def store_of(settings: Settings) -> Store:
    if settings.files_url:
        # boto3 is only installed and loaded where it is used.
        from app.files.s3 import store_at  # noqa: PLC0415

        return store_at(settings.files_url)
    return FolderStore(settings.files_dir)


def incoming(settings: Settings) -> Path:
    """The folder for uploads in progress."""
    folder = settings.incoming_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def clear_leftovers(settings: Settings) -> None:
    """Delete the leftovers of uploads that a crash interrupted."""
    for path in settings.incoming_dir.glob("*"):
        if _is_old(path, LEFTOVER_SECONDS):
            path.unlink(missing_ok=True)
