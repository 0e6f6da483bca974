"""Telling the worker of this process, right after a commit, that there is something to send."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session

from app.core.db import session

_MARK = "docket_outbox"
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
    session.info[_MARK] = True


@event.listens_for(Session, "after_commit")
def _committed(committing: Session, *_: Any) -> None:
    # A savepoint is no commit yet; the one around it will be told.
    if not committing.in_nested_transaction() and committing.info.pop(_MARK, False):
        wake_all()


@event.listens_for(Session, "after_rollback")
def _rolled_back(rolling: Session, *_: Any) -> None:
    if not rolling.in_nested_transaction():
        rolling.info.pop(_MARK, None)
