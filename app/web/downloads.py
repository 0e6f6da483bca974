"""Downloads that are sent while they are created, so that they take little memory; lines of CSV."""

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
from app.database.session import reading
from app.http.current import current_authentication, current_request
from app.http.flask_app import STREAMED
from app.web.guard import actor

# A longer download is aborted.
DEADLINE_SECONDS = 15 * 60.0
# Where a spreadsheet can recognize a formula: at the start of a cell. Some programs also start a
# cell after a semicolon, a tab or a line break, even inside quotes. A formula that has apostrophes
# already gets one more, so that ``without_apostrophes`` removes exactly that.
_INNER_START = r"""[;\t\r\n][" ]*"""
FORMULA = re.compile(rf"^(?='*[=+\-@\t\r])|({_INNER_START})(?='*[=+\-@])")
_APOSTROPHE = re.compile(rf"^'(?='*[=+\-@\t\r])|({_INNER_START})'(?='*[=+\-@])")
# An item of a list that would read as several, or whose quotes would be removed.
_QUOTED = re.compile(r'[,\r\n]|^"')

log = logging.getLogger(__name__)


class Ended(Exception):
    """The reader's session ended, or the download took too long."""


def streamed(pieces: Iterator[bytes], mimetype: str, name: str) -> Response:
    """A response that sends these pieces as a file of this name.

    The session is checked before each piece. An error in a piece aborts the download, so the caller
    makes the first piece early: an outage of the database then shows an error page.
    """
    context: AppContext = app_ctx._get_current_object()  # type: ignore[attr-defined]  # of Flask's proxies
    guarded = _guarded(pieces, current_request(), actor())
    response = Response(_in_context(guarded, context), mimetype=mimetype)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    request.environ[STREAMED] = True
    return response


def _guarded(pieces: Iterator[bytes], request: Request, reader: Actor) -> Iterator[bytes]:
    """The pieces; raises Ended once the session or the time is over."""
    authentication = current_authentication()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        with reading():
            current = authentication.resolve(request)
        if current.user_id != reader.user_id or time.monotonic() > deadline:
            raise Ended
        piece = next(pieces, None)
        if piece is None:
            return
        yield piece


def _in_context(pieces: Iterator[bytes], context: AppContext) -> Iterator[bytes]:
    """Make each piece in the application context, and leave it while the piece is sent."""
    while True:
        try:
            with context:
                piece = next(pieces, None)
        except Exception as error:
            # The response has begun, so it can only end early.
            log.error("an export broke off: %s", type(error).__name__)  # noqa: TRY400 - raised again
            raise
        if piece is None:
            return
        yield piece


def line(values: Iterable[Any]) -> str:
    """A line of CSV. None is empty, a list is joined by commas, a formula gets an apostrophe."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([_cell(value) for value in values])
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(_item(item) for item in value)
    text = "" if value is None else str(value)
    return FORMULA.sub(r"\1'", text)


def _item(text: str) -> str:
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if _QUOTED.search(text) else text


def without_apostrophes(cell: str) -> str:
    """The text of a cell that ``line`` wrote."""
    return _APOSTROPHE.sub(r"\1", cell)


def items(text: str) -> list[str]:
    """The list whose text ``line`` wrote; raises csv.Error."""
    return next(csv.reader([text], skipinitialspace=True), [])
