"""Files that are sent while they are made, so that their length costs no memory (app/asgi.py)."""

import logging
from collections.abc import Iterator

from flask import Response, request
from flask.ctx import AppContext
from flask.globals import app_ctx

from app.core.context import STREAMED

log = logging.getLogger(__name__)


def streamed(pieces: Iterator[bytes], mimetype: str, name: str) -> Response:
    """An answer that hands these pieces out as a file of this name.

    What fails in them only breaks the answer off, so whoever calls this makes the first of them
    before: where the database is away, that can be said on a page.
    """
    context: AppContext = app_ctx._get_current_object()  # type: ignore[attr-defined]  # of Flask's proxies
    response = Response(_to_its_end(pieces, context), mimetype=mimetype)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    request.environ[STREAMED] = True
    return response


def _to_its_end(pieces: Iterator[bytes], context: AppContext) -> Iterator[bytes]:
    """Each piece is made in the context of its request, which is left while its reader is slow."""
    while True:
        try:
            with context:
                piece = next(pieces, None)
        except Exception as error:
            # The answer has begun, so nothing else can be said; without its end it is not whole.
            log.error("an export broke off: %s", type(error).__name__)  # noqa: TRY400 - raised on
            raise
        if piece is None:
            return
        yield piece
