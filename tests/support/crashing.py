"""The application, made to die by SIGKILL once, at a named point of a delivery.

CRASH_AT names the point; the file CRASH_FILE exists until the crash. LEASE_MS shortens the lease of
deliveries, FIRST_SWEEP_SECONDS the wait before the first sweeps, NOTICES_MS how long news is unread
before it is mailed. Served by ``flask --app tests.support.crashing serve``; the product itself has
no such settings.
"""

import os
import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from app import create_app
from app.jobs import scheduler
from app.notices import collecting
from app.webhooks import outbox, sending, worker


def die_at(point: str) -> None:
    """Kill this process if this is the point and it has not crashed yet."""
    if os.environ.get("CRASH_AT") != point:
        return
    try:
        Path(os.environ["CRASH_FILE"]).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def dying(point: str, function: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    """Return the function with the crash point right before or right after it."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if before:
            die_at(point)
        done = function(*args, **kwargs)
        if not before:
            die_at(point)
        return done

    return run


def prepare() -> None:
    """Insert the crash points into the code that delivers."""
    outbox.LEASE_MS = int(os.environ.get("LEASE_MS", outbox.LEASE_MS))
    scheduler.FIRST_SWEEP_SECONDS = int(
        os.environ.get("FIRST_SWEEP_SECONDS", scheduler.FIRST_SWEEP_SECONDS)
    )
    if notices_ms := int(os.environ.get("NOTICES_MS", "0")):
        scheduler.NOTICES_SECONDS = 1
        collecting.UNREAD_MS, collecting.COMMIT_WAIT_MS = notices_ms, notices_ms // 4
    worker.RECOVERY_MS = min(worker.RECOVERY_MS, outbox.LEASE_MS // 4)
    # The change is committed and answered; the worker has not been notified.
    bell = outbox.outbox_filled
    bell.emit = dying("after commit", bell.emit, before=True)
    # The entry is claimed, but nothing was sent.
    worker.Worker._send = dying("after claim", worker.Worker._send, before=True)
    # The receiver has answered, but only this process knows.
    sending._discard = dying("after send", sending._discard, before=False)
    # The row is written, but not committed.
    outbox.complete_all = dying("before record", outbox.complete_all, before=False)


prepare()
app = create_app()
