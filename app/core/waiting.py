"""Requests that wait for news.

Only the server can keep a request waiting (``serving/waiting.py``): it runs the request again when
there may be news. Elsewhere the request is answered at once.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from app.core.actor import Actor

T = TypeVar("T")

LONGEST_SECONDS = 25


class NewsAwaited(BaseException):
    """The request is to run again when this actor may have news, or after this many seconds.

    A BaseException, so that no ``except`` stops it.
    """

    def __init__(self, actor: Actor, seconds: int) -> None:
        super().__init__(seconds)
        self.actor, self.seconds = actor, seconds


_may_wait: ContextVar[bool] = ContextVar("may_wait", default=False)


def await_news(actor: Actor, seconds: int) -> None:
    """Raise NewsAwaited if the request may wait. Nothing may have been written before."""
    if seconds > 0 and _may_wait.get():
        raise NewsAwaited(actor, seconds)


def waiting_allowed(work: Callable[[], T]) -> T:
    """Run ``work``, which may raise NewsAwaited."""
    token = _may_wait.set(True)
    try:
        return work()
    finally:
        _may_wait.reset(token)
