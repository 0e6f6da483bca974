"""How much processor time laying out texts may take: each text, and all texts of one request.

No thread can be stopped from outside, so the steps of laying out look at the time themselves.
"""

import time
from contextvars import ContextVar

TEXT_SECONDS = 0.3
REQUEST_SECONDS = 1.0

# What texts of the request at hand have taken; None outside of requests, where nobody waits.
_spent: ContextVar[list[float] | None] = ContextVar("spent", default=None)
# When the text at hand must be done, by the processor time of this thread.
_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


class TooSlow(Exception):
    """A text takes too long to lay out."""


def begin_request() -> None:
    """Count the texts of this request from now on."""
    _spent.set([0.0])


def end_request() -> None:
    """Count no more."""
    _spent.set(None)


class RenderBudget:
    """The time of one text, as a context manager."""

    # Whether the text alone took too long, however many others the request has.
    is_its_own = False

    def __enter__(self) -> "RenderBudget":
        """Begin; raises TooSlow where the request has no time left."""
        spent = _spent.get()
        left = REQUEST_SECONDS - spent[0] if spent is not None else TEXT_SECONDS
        if left <= 0:
            raise TooSlow
        self.is_its_own = left >= TEXT_SECONDS
        self._began = time.thread_time()
        self._token = _ends_at.set(self._began + min(left, TEXT_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        """End, and count what it took."""
        _ends_at.reset(self._token)
        spent = _spent.get()
        if spent is not None:
            spent[0] += time.thread_time() - self._began


def check() -> None:
    """Raise TooSlow where the text at hand has no time left."""
    ends_at = _ends_at.get()
    if ends_at is not None and time.thread_time() > ends_at:
        raise TooSlow
