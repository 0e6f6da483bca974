"""Copying contents from one store to another, and checking their hashes."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import select

from app.database.session import reading, session
from app.files.models import FileContent
from app.files.store import ContentMissing, NewContent, Store

BATCH = 500


def copy_contents(contents: Iterable[str], source: Store, target: Store, folder: Path) -> list[str]:
    """Copy contents that are missing or damaged in the target; returns those that it still lacks.

    ``folder`` is for temporary files, on the same file system as a target that is a folder.
    """
    return [
        sha256
        for sha256 in contents
        if not (_has_whole(target, sha256) or _copy(sha256, source, target, folder))
    ]


def _has_whole(store: Store, sha256: str) -> bool:
    try:
        return _digest(sha256, store)[0] == sha256
    except ContentMissing:
        return False


def _copy(sha256: str, source: Store, target: Store, folder: Path) -> bool:
    try:
        pieces = source.read(sha256)
    except ContentMissing:
        return False
    digest, size = hashlib.sha256(), 0
    with tempfile.NamedTemporaryFile(dir=folder, prefix="copied-", delete=False) as file:
        path = Path(file.name)
        try:
            for piece in pieces:
                digest.update(piece)
                size += file.write(piece)
            file.flush()
            if digest.hexdigest() != sha256:
                return False
            content = NewContent(sha256, size, path)
            target.prepare(content)
            target.ensure(content)
        finally:
            path.unlink(missing_ok=True)
    return True


def damaged(sha256: str, size: int, store: Store) -> bool:
    """Whether a content differs from its hash or size; raises ContentMissing."""
    return _digest(sha256, store) != (sha256, size)


def _digest(sha256: str, store: Store) -> tuple[str, int]:
    """The computed hash and size of a content; raises ContentMissing."""
    digest, length = hashlib.sha256(), 0
    for piece in store.read(sha256):
        digest.update(piece)
        length += len(piece)
    return digest.hexdigest(), length


def known_contents() -> Iterator[tuple[str, int]]:
    """The hash and size of each content that a row names; opens its own units of work."""
    after = ""
    while True:
        statement = select(FileContent.sha256, FileContent.size).where(FileContent.sha256 > after)
        with reading():
            batch = session.execute(statement.order_by(FileContent.sha256).limit(BATCH)).all()
        for row in batch:
            yield row.sha256, row.size
        if len(batch) < BATCH:
            return
        after = batch[-1].sha256
