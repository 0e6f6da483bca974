"""Limits on the processor time of rendering: for each text, and for all texts of a request.

A thread cannot be stopped from outside, so the steps of rendering check the time themselves.
"""

import time
from contextvars import ContextVar
from typing import Any

from flask import has_request_context

from app.http.current import current_request

TEXT_SECONDS = 0.3
REQUEST_SECONDS = 1.0

# Where the WSGI environment keeps the seconds spent on texts of the request.
_SPENT = "docket.rendering_seconds"
# The deadline of the current text, in processor time of this thread.
_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


class TooSlow(Exception):
    """A text takes too long to render."""


class RenderBudget:
    """The time limit of one text, as a context manager; entering can raise TooSlow."""

    # Whether the limit is that of the text alone, not what the request has left.
    is_its_own = False

    def __enter__(self) -> "RenderBudget":
        environ = _environ()
        left = REQUEST_SECONDS - environ.get(_SPENT, 0.0)
        if left <= 0:
            raise TooSlow
        self.is_its_own = left >= TEXT_SECONDS
        self._began = time.thread_time()
        self._token = _ends_at.set(self._began + min(left, TEXT_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        _ends_at.reset(self._token)
        environ = _environ()
        environ[_SPENT] = environ.get(_SPENT, 0.0) + time.thread_time() - self._began


def check() -> None:
    """Raise TooSlow if the current text has no time left."""
    ends_at = _ends_at.get()
    if ends_at is not None and time.thread_time() > ends_at:
        raise TooSlow


def _environ() -> dict[str, Any]:
    """The WSGI environment; empty outside of requests, where only each text has a limit."""
    return current_request().environ if has_request_context() else {}
