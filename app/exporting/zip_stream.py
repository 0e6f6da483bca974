"""A zip made while it is sent: whoever reads it gets what there is by then, piece by piece.

Nothing of it is kept but what its end must list: a name and some numbers for each file. A zip that
broke off has no end, so no program takes it for a whole one.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

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
