"""Files that are sent while they are made, so that their length costs no memory."""

import csv
import io
import logging
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Request, Response, request
from flask.ctx import AppContext
from flask.globals import app_ctx

from app.core.actor import Actor
from app.core.context import STREAMED
from app.database.session import reading
from app.http.current import application, current_request
from app.web.guard import Who, actor

# Where a spreadsheet would begin a formula: at the start of a cell, and inside it wherever one that
# splits at semicolons, tabs or line breaks, whatever is quoted, has another cell begin.
FORMULA = re.compile(r"""^(?=[=+\-@\t\r])|([;\t\r\n][" ]*)(?=[=+\-@])""")


def line(values: Iterable[Any]) -> str:
    """One line: None is empty, a list is its items, a formula gets an apostrophe."""
    written = io.StringIO()
    csv.writer(written).writerow([_cell(value) for value in values])
    return written.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(value)
    text = "" if value is None else str(value)
    return FORMULA.sub(r"\1'", text)


log = logging.getLogger(__name__)


# A file that takes longer is broken off.
DEADLINE_SECONDS = 15 * 60.0


class Ended(Exception):
    """The session of whoever reads has ended, or the time of the file is over."""


def streamed(pieces: Iterator[bytes], mimetype: str, name: str) -> Response:
    """An answer that hands these pieces out as a file of this name.

    Before each, the session is judged anew: whoever was logged out, deactivated or expired
    meanwhile is sent nothing more. What fails in them only breaks the answer off, so whoever calls
    this makes the first of them before: where the database is away, that can be said on a page.
    """
    context: AppContext = app_ctx._get_current_object()  # type: ignore[attr-defined]  # of Flask's proxies
    judged = _judged(pieces, current_request(), actor())
    response = Response(_to_its_end(judged, context), mimetype=mimetype)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    request.environ[STREAMED] = True
    return response


def _judged(pieces: Iterator[bytes], request: Request, reader: Actor) -> Iterator[bytes]:
    """The pieces, while their reader may have them; raises Ended."""
    who: Who = application().extensions["docket_who"]
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        with reading():
            present = who.resolve(request)
        if present.user_id != reader.user_id or time.monotonic() > deadline:
            raise Ended
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece


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
