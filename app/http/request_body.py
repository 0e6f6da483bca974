"""Reading a request body within the size limit, whatever its Content-Length claims."""

from flask import Request

from app.core.errors import RequestTooLarge

# What is for everybody takes no more from a stranger.
PUBLIC_BYTES = 64 * 1024
_DRAINED = 256 * 1024


def read_body(request: Request, limit: int) -> bytes:
    """The whole body; raises RequestTooLarge over ``limit`` bytes.

    Bytes are counted here, since a chunked body states no length and servers may cut it silently.
    """
    stream = request.environ["wsgi.input"]
    declared = request.content_length
    if declared is not None:
        if declared > limit:
            stream.read(min(declared, _DRAINED))
            raise RequestTooLarge(limit)
        return bytes(stream.read(declared)) if declared else b""
    if "chunked" not in request.headers.get("Transfer-Encoding", "").lower():
        return b""
    content = bytes(stream.read(limit + 1))
    if len(content) > limit:
        raise RequestTooLarge(limit)
    return content
