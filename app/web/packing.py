"""Pages as they go over the wire: compressed, where the browser takes that and it is worth it.

A large piece that many pages show is compressed once. A gzip stream may be put together of parts,
as long as none refers to what stands before it, so the piece goes unchanged between the parts that
are new in each page.
"""

import struct
from dataclasses import dataclass

from flask import Response
from isal import isal_zlib
from isal.isal_zlib import crc32

# Below this, packing costs more than it saves.
WORTH_PACKING = 2048
# The next level takes twice as long, or four times for a board, and saves a fortieth.
LEVEL = 2
_GZIP = 16 + isal_zlib.MAX_WBITS
# RFC 1952: deflate, no flags, no time, an unknown system.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def _deflated(content: bytes, flush: int) -> bytes:
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush(flush)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of pages, as it is and compressed."""

    plain: bytes
    packed: bytes


def piece(text: str) -> Piece:
    """Compress a part of pages, to be sent with many of them."""
    plain = text.encode()
    return Piece(plain, _deflated(plain, isal_zlib.Z_SYNC_FLUSH))


class AroundPiece(Response):
    """An HTML answer with a kept piece in it."""

    def __init__(self, before: str, kept: Piece, after: str, status: int) -> None:
        """The page is what stands before the piece, the piece, and what stands after it."""
        self.parts = (before.encode(), kept, after.encode())
        super().__init__([self.parts[0], kept.plain, self.parts[2]], status, mimetype="text/html")

    def packed(self) -> bytes:
        """The page as one gzip stream."""
        before, kept, after = self.parts
        checksum = crc32(after, crc32(kept.plain, crc32(before)))
        length = len(before) + len(kept.plain) + len(after)
        return b"".join(
            (
                _HEADER,
                _deflated(before, isal_zlib.Z_SYNC_FLUSH),
                kept.packed,
                _deflated(after, isal_zlib.Z_FINISH),
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
        content = isal_zlib.compress(plain, LEVEL, _GZIP)
    response.set_data(content)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "HX-Request, Accept-Encoding"
