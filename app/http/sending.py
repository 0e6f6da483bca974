"""Sending the content of a file: never as a page, with ranges, and only if it changed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from flask import Request, Response
from werkzeug.http import parse_range_header

from app.core.etag import matches
from app.http.flask_app import STREAMED

# A browser must not run any part of the content.
HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "private, no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Accept-Ranges": "bytes",
}
DOWNLOAD_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Download:
    """A content and how to send it; ``read`` gets the offset and the number of bytes."""

    name: str
    size: int
    tag: str
    read: Callable[[int, int], Iterator[bytes]]
    # Only set for reencoded images; anything else is a download.
    image_type: str | None = None


def send(request: Request, download: Download) -> Response:
    """The whole content, the requested range, or 304."""
    headers = {
        **HEADERS,
        "ETag": f'"{download.tag}"',
        "Content-Disposition": _disposition(download),
    }
    tags = request.headers.get("If-None-Match")
    if tags and matches(tags, headers["ETag"]):
        response = Response(status=304, headers=headers)
        response.headers.pop("Content-Type", None)
        return response
    start, end, status = 0, download.size, 200
    part = _part(request, download.size, headers["ETag"])
    if part is not None:
        start, end = part
        status = 206
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{download.size}"
    headers["Content-Length"] = str(end - start)
    headers["Content-Type"] = download.image_type or DOWNLOAD_TYPE
    if request.method == "HEAD":
        return Response(status=status, headers=headers)
    request.environ[STREAMED] = True
    return Response(download.read(start, end - start), status, headers)


def _disposition(download: Download) -> str:
    kind = "inline" if download.image_type else "attachment"
    plain = download.name.encode("ascii", "replace").decode().replace("?", "_").replace("\\", "_")
    encoded = quote(download.name, safe="")
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{encoded}"


def _part(request: Request, size: int, tag: str) -> tuple[int, int] | None:
    """The single requested range; None for the whole content or an invalid range."""
    condition = request.headers.get("If-Range")
    if request.method != "GET" or (condition is not None and condition != tag):
        return None
    try:
        requested = parse_range_header(request.headers.get("Range"))
    except ValueError:
        return None
    if requested is None or requested.units != "bytes" or len(requested.ranges) != 1:
        return None
    return requested.range_for_length(size)
