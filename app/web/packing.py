"""Pages as they go over the wire: compressed, where the browser takes that and it is worth it.

A large piece that many pages show is compressed once. A gzip stream may be put together of parts,
as long as none refers to what stands before it, so the piece goes unchanged between the parts that
are new in each page.
"""

import gzip
import struct
import zlib
from dataclasses import dataclass

from flask import Response

# Below this, packing costs more than it saves.
WORTH_PACKING = 2048
# The next level takes twice as long and saves a fifteenth.
LEVEL = 3
# RFC 1952: deflate, no flags, no time, an unknown system.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def _deflated(content: bytes, flush: int) -> bytes:
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush(flush)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of pages, as it is and compressed."""

    plain: bytes
    packed: bytes


def piece(text: str) -> Piece:
    """Compress a part of pages, to be sent with many of them."""
    plain = text.encode()
    return Piece(plain, _deflated(plain, zlib.Z_SYNC_FLUSH))


class AroundPiece(Response):
    """An HTML answer with a kept piece in it."""

    def __init__(self, before: str, kept: Piece, after: str, status: int) -> None:
        """The page is what stands before the piece, the piece, and what stands after it."""
        self.parts = (before.encode(), kept, after.encode())
        super().__init__([self.parts[0], kept.plain, self.parts[2]], status, mimetype="text/html")

    def packed(self) -> bytes:
        """The page as one gzip stream."""
        before, kept, after = self.parts
        checksum = zlib.crc32(after, zlib.crc32(kept.plain, zlib.crc32(before)))
        length = len(before) + len(kept.plain) + len(after)
        return b"".join(
            (
                _HEADER,
                _deflated(before, zlib.Z_SYNC_FLUSH),
                kept.packed,
                _deflated(after, zlib.Z_FINISH),
                struct.pack("<II", checksum, length & 0xFFFFFFFF),
            )
        )


def pack(response: Response) -> None:
    """Compress a large page in place."""
    if isinstance(response, AroundPiece):
        content = response.packed()
    else:
        plain = response.get_data()
        if len(plain) < WORTH_PACKING:
            return
        content = gzip.compress(plain, LEVEL, mtime=0)
    response.set_data(content)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "HX-Request, Accept-Encoding"
