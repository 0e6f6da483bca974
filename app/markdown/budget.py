"""Limits on the processor time of rendering: for each text, and for all texts of a request.

A thread cannot be stopped from outside, so the steps of rendering check the time themselves.
"""

import time
from contextvars import ContextVar

TEXT_SECONDS = 0.3
REQUEST_SECONDS = 1.0

# Seconds spent on texts of the current request; None outside of requests, where only the limit of
# each text applies.
_spent: ContextVar[list[float] | None] = ContextVar("spent", default=None)
# The deadline of the current text, in processor time of this thread.
_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


class TooSlow(Exception):
    """A text takes too long to render."""


def begin_request() -> None:
    """Start to count the time of this request."""
    _spent.set([0.0])


def end_request() -> None:
    _spent.set(None)


class RenderBudget:
    """The time limit of one text, as a context manager; entering can raise TooSlow."""

    # Whether the limit is that of the text alone, not what the request has left.
    is_its_own = False

    def __enter__(self) -> "RenderBudget":
        spent = _spent.get()
        left = REQUEST_SECONDS - spent[0] if spent is not None else TEXT_SECONDS
        if left <= 0:
            raise TooSlow
        self.is_its_own = left >= TEXT_SECONDS
        self._began = time.thread_time()
        self._token = _ends_at.set(self._began + min(left, TEXT_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        _ends_at.reset(self._token)
        spent = _spent.get()
        if spent is not None:
            spent[0] += time.thread_time() - self._began


def check() -> None:
    """Raise TooSlow if the current text has no time left."""
    ends_at = _ends_at.get()
    if ends_at is not None and time.thread_time() > ends_at:
        raise TooSlow
