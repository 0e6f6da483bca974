"""Telling the worker of this process, right after a commit, that there is something to send."""

from collections.abc import Callable

from app.core import db

_wakers: list[Callable[[], None]] = []


def on_wake(waker: Callable[[], None]) -> None:
    """Call this after each commit that put something into the outbox."""
    _wakers.append(waker)


def forget(waker: Callable[[], None]) -> None:
    """Stop calling it."""
    _wakers.remove(waker)


def wake_all() -> None:
    """Tell the workers of this process to look at the outbox."""
    for waker in _wakers:
        waker()


def after_commit() -> None:
    """Wake the worker once the transaction at hand has committed."""
    db.after_commit(wake_all)
