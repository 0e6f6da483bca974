"""Pages as they go over the wire: compressed, where the browser takes that and it is worth it.

Pieces that many pages show are compressed once. A gzip stream may be put together of parts, as long
as none refers to what stands before it, so they go unchanged between the parts that are new in each
page.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from flask import Response
from isal import isal_zlib
from isal.isal_zlib import crc32, crc32_combine
from werkzeug.http import parse_accept_header

from app.core.reply import Reply

HTML = "text/html; charset=utf-8"
# Said by those that are not packed as well: a cache may ask for the same address otherwise.
VARY = {"Vary": "HX-Request, Accept-Encoding"}
PACKED = {"Content-Encoding": "gzip", **VARY}


# Browsers send the same header with each request.
@lru_cache(maxsize=64)
def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client that sends this header takes gzip, and would not rather have it plain."""
    wanted = parse_accept_header(accept_encoding)
    # What is named counts before ``*``.
    return 0 < wanted.quality("gzip") >= wanted.quality("identity")


# Below this, packing costs more than it saves; a page with pieces is packed in any case.
WORTH_PACKING = 2048
# What stands between two pieces is often short, and compressing takes three microseconds at least.
WORTH_PACKING_A_PART = 256
# The next level takes twice as long, or four times for a board, and saves a fortieth.
LEVEL = 2
_GZIP = 16 + isal_zlib.MAX_WBITS
# RFC 1952: deflate, no flags, no time, an unknown system.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
# The last block of deflate: nothing more.
_END = b"\x03\x00"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of pages, compressed, with what the end of a stream says of its parts."""

    packed: bytes
    checksum: int
    length: int

    @property
    def plain(self) -> bytes:
        """The part as it was; whoever takes no compressed pages is rare enough to unpack it for."""
        unpacked: bytes = isal_zlib.decompressobj(-isal_zlib.MAX_WBITS).decompress(self.packed)
        return unpacked


def piece(text: str) -> Piece:
    """Compress a part of pages, to be sent with many of them."""
    plain = text.encode()
    return Piece(_packed(plain), crc32(plain), len(plain))


def _packed(part: bytes) -> bytes:
    """A part of a stream, which ends between two bytes and may be followed by any other."""
    if len(part) < WORTH_PACKING_A_PART:
        # RFC 1951, section 3.2.4: a block that is stored as it is.
        return struct.pack("<BHH", 0, len(part), len(part) ^ 0xFFFF) + part
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    packed: bytes = packer.compress(part) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
    return packed


class PiecedPage(Reply):
    """An HTML answer of texts and pieces."""

    def __init__(self, parts: Sequence[bytes | Piece], status: int) -> None:
        """The page is these parts in their order."""
        self.parts = parts
        super().__init__(self._plain(), status, [("Content-Type", HTML)])

    def _plain(self) -> Iterator[bytes]:
        for part in self.parts:
            yield part if isinstance(part, bytes) else part.plain

    def unpack(self) -> None:
        """Make it a plain answer in place."""
        self.get_data()
        self.headers.update(VARY)

    def packed(self) -> bytes | None:
        """The page as one gzip stream; None where it was looked at or added to meanwhile."""
        if self.is_sequence:
            return None
        stream, checksum, length = [_HEADER], 0, 0
        for part in self.parts:
            if isinstance(part, bytes):
                stream.append(_packed(part))
                checksum = crc32(part, checksum)
                length += len(part)
            else:
                stream.append(part.packed)
                checksum = crc32_combine(checksum, part.checksum, part.length)
                length += part.length
        stream += _END, struct.pack("<II", checksum, length & 0xFFFFFFFF)
        return b"".join(stream)


def pack(response: Response) -> None:
    """Compress a large page in place."""
    content = response.packed() if isinstance(response, PiecedPage) else None
    if content is not None:
        # It has none of these yet.
        response.response = [content]
        response.headers.extend({"Content-Length": str(len(content)), **PACKED})
        return
    if isinstance(response, PiecedPage):
        response.unpack()
    plain = response.get_data()
    if len(plain) >= WORTH_PACKING:
        response.set_data(isal_zlib.compress(plain, LEVEL, _GZIP))
        response.headers.update(PACKED)
