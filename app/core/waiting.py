"""Requests that wait for news.

Only the server can keep a request waiting (``serving/waiting.py``): it reruns the request when
there may be news. Elsewhere, the request is answered at once.
"""

from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum, auto
from typing import TypeVar

from app.core.actor import Actor

T = TypeVar("T")

MAX_WAIT_SECONDS = 25


class Waiting(Enum):
    """Whether a request may wait; if not, whether it has waited."""

    ALLOWED = auto()
    OVER = auto()
    REFUSED = auto()


class NewsAwaited(BaseException):
    """Asks to rerun the request when this actor may have news, or after this many seconds.

    A BaseException, so that no ``except`` stops it.
    """

    def __init__(self, actor: Actor, seconds: int) -> None:
        super().__init__(seconds)
        self.actor, self.seconds = actor, seconds


_waiting: ContextVar[Waiting] = ContextVar("waiting", default=Waiting.REFUSED)


def await_news(actor: Actor, seconds: int) -> bool:
    """Raise NewsAwaited if the request may wait; otherwise return whether it has waited.

    Call this before writing anything, as the request runs again.
    """
    if _waiting.get() is Waiting.ALLOWED:
        raise NewsAwaited(actor, seconds)
    return _waiting.get() is Waiting.OVER


def run_waiting(waiting: Waiting, work: Callable[[], T]) -> T:
    """Run ``work``, which may raise NewsAwaited if waiting is allowed."""
    token = _waiting.set(waiting)
    try:
        return work()
    finally:
        _waiting.reset(token)
