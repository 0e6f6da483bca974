"""Pages compressed for the browsers that take it."""

from functools import lru_cache

from flask import Response
from isal import isal_zlib
from werkzeug.http import parse_accept_header

# Smaller pages are sent as they are.
WORTH_COMPRESSING = 2048
# The next level takes twice as long, or four times for a board, and saves a fortieth.
LEVEL = 2
# The format of zlib's parameter ``wbits``.
GZIP = 16 + isal_zlib.MAX_WBITS


# Browsers send the same header with each request.
@lru_cache(maxsize=64)
def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client that sends this header takes gzip, and would not rather have it plain."""
    wanted = parse_accept_header(accept_encoding)
    # What is named counts before ``*``.
    return 0 < wanted.quality("gzip") >= wanted.quality("identity")


def gzipped(content: bytes) -> bytes:
    """These bytes, compressed."""
    packed: bytes = isal_zlib.compress(content, LEVEL, GZIP)
    return packed


def compress(response: Response) -> None:
    """Compress a large page in place, unless it is compressed."""
    if "Content-Encoding" in response.headers:
        return
    content = response.get_data()
    if len(content) >= WORTH_COMPRESSING:
        response.set_data(gzipped(content))
        response.headers["Content-Encoding"] = "gzip"
