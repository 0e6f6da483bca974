"""Limits on the processor time of reading and rendering, for each text and for a whole request.

A thread cannot be stopped from outside, so the steps of rendering check the time themselves.
"""

import time
from contextvars import ContextVar
from typing import Any

from flask import has_request_context

from app.http.current import current_request

TEXT_SECONDS = 0.4
REQUEST_SECONDS = 1.5

# The key in the WSGI environment for the seconds spent on texts of the request.
_SPENT = "docket.rendering_seconds"
# The deadline of the current text, in processor time of this thread.
_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


class TooSlow(Exception):
    """A text takes too long to render."""


class RenderBudget:
    """The time limit of one text, a context manager for each step. Entering can raise TooSlow."""

    # Whether the limit is that of the text, not the time that the request has left.
    is_its_own = False

    def __init__(self) -> None:
        self._left = TEXT_SECONDS

    def __enter__(self) -> None:
        left = REQUEST_SECONDS - _environ().get(_SPENT, 0.0)
        self.is_its_own = left >= self._left
        if min(left, self._left) <= 0:
            raise TooSlow
        self._began = time.thread_time()
        self._token = _ends_at.set(self._began + min(left, self._left))

    def __exit__(self, *_: object) -> None:
        _ends_at.reset(self._token)
        spent = time.thread_time() - self._began
        self._left -= spent
        environ = _environ()
        environ[_SPENT] = environ.get(_SPENT, 0.0) + spent


def check() -> None:
    """Raise TooSlow if the current text has no time left."""
    ends_at = _ends_at.get()
    if ends_at is not None and time.thread_time() > ends_at:
        raise TooSlow


def _environ() -> dict[str, Any]:
    """The WSGI environment; empty outside of requests, where only each text has a limit."""
    return current_request().environ if has_request_context() else {}
