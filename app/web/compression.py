"""Pages compressed for browsers that accept it.

A gzip stream can be joined from segments that were compressed separately, if none refers to earlier
ones. So a cached page is compressed once, and only its late values are new.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from flask import Response
from isal import isal_zlib
from werkzeug.http import parse_accept_header

# Smaller pages are sent uncompressed.
WORTH_COMPRESSING = 2048
# The next level takes twice as long, four times for a board, and saves a fortieth.
LEVEL = 2
# The format of zlib's parameter ``wbits``.
GZIP = 16 + isal_zlib.MAX_WBITS
RAW = -isal_zlib.MAX_WBITS
# RFC 1952: deflate, no flags, no time, an unknown system. RFC 1951: an empty last block.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_END = b"\x03\x00"
# A stored block of deflate holds at most this many bytes.
_STORED_BYTES = 0xFFFF


# Browsers send the same header with each request.
@lru_cache(maxsize=64)
def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client with this header accepts gzip, and does not prefer the plain form."""
    wanted = parse_accept_header(accept_encoding)
    # Named encodings take precedence over ``*``.
    return 0 < wanted.quality("gzip") >= wanted.quality("identity")


def gzipped(content: bytes) -> bytes:
    """These bytes, compressed."""
    packed: bytes = isal_zlib.compress(content, LEVEL, GZIP)
    return packed


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a gzip stream; any other part may follow."""

    deflated: bytes
    checksum: int
    length: int

    @property
    def plain(self) -> bytes:
        """The original text."""
        text: bytes = isal_zlib.decompressobj(RAW).decompress(self.deflated)
        return text


def segment(text: bytes, *, compressed: bool = True) -> Segment:
    """A part of a stream; a short text that changes each time is stored uncompressed."""
    if compressed or len(text) > _STORED_BYTES:
        compressor = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW)
        deflated = compressor.compress(text) + compressor.flush(isal_zlib.Z_SYNC_FLUSH)
    else:
        deflated = struct.pack("<BHH", 0, len(text), len(text) ^ _STORED_BYTES) + text
    return Segment(deflated, isal_zlib.crc32(text), len(text))


def joined(segments: Iterable[Segment]) -> bytes:
    """One gzip stream of these."""
    stream, checksum, length = [_HEADER], 0, 0
    for one in segments:
        stream.append(one.deflated)
        checksum = isal_zlib.crc32_combine(checksum, one.checksum, one.length)
        length += one.length
    stream += _END, struct.pack("<II", checksum, length & 0xFFFFFFFF)
    return b"".join(stream)


def compress(response: Response) -> None:
    """Compress a large page in place, unless it is compressed."""
    if "Content-Encoding" in response.headers:
        return
    content = response.get_data()
    if len(content) >= WORTH_COMPRESSING:
        response.set_data(gzipped(content))
        response.headers["Content-Encoding"] = "gzip"
