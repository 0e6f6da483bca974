"""The worker of a process: one thread that speaks to the database, and threads that send.

The thread hands due entries out and takes results back, many in one transaction; so no connection
is held during HTTP, and a slow receiver costs one sleeping thread and nobody's time. All threads
are daemons: an attempt that takes long must not keep the process from ending.
"""

import logging
import os
import queue
import secrets
import threading
import time
from functools import partial

from flask import Flask

from app.core.clock import now_ms
from app.core.context import request_id
from app.core.errors import Unavailable
from app.database.session import reading, run_write
from app.webhooks import outbox
from app.webhooks.attempts import DeliveryOutcome
from app.webhooks.connecting import Limits, limits
from app.webhooks.outbox import Claimed, Result
from app.webhooks.sending import Sender, send

log = logging.getLogger(__name__)

# Receivers spoken to at a time; each is one sleeping thread.
SENDERS = 128
# How long the thread sleeps when nothing wakes it: other processes' work, and what was left behind.
POLL_SECONDS = 1.0
# How often what others left in their hands is looked for.
RECOVERY_MS = 15_000
# How long a stop waits for attempts under way; then they count as interrupted.
PATIENCE_SECONDS = 5.0
# For the database to write that down.
STOP_SECONDS = PATIENCE_SECONDS + 5.0


class Worker:
    """Delivers what is due until it is stopped."""

    def __init__(self, app: Flask, *, sender: Sender = send) -> None:
        self._app = app
        self._sender = sender
        self._owner = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._limits: Limits = limits(app)
        # A result; True where something was put into the outbox; False to have a look.
        self._signals: queue.SimpleQueue[Result | bool] = queue.SimpleQueue()
        self._has_news = True
        self._next_due: int | None = None
        self._under_way: dict[str, Claimed] = {}
        # What came back and is not written down yet.
        self._results: list[Result] = []
        self._stopping = threading.Event()
        self._stop_at = 0.0
        self._recovered_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="webhook-worker", daemon=True)

    def start(self) -> None:
        """Begin delivering."""
        outbox.outbox_filled.listen(self.wake)
        self._thread.start()

    def wake(self) -> None:
        """Take from the outbox now: something was put there."""
        self._signals.put(True)

    def check(self) -> None:
        """See whether something is due: a retry, or what another process put there."""
        self._signals.put(False)

    def stop(self) -> None:
        """Take nothing new, wait a little for what is under way, write down how it ended.

        What takes longer is written down as interrupted and handed to the next process at once.
        """
        outbox.outbox_filled.forget(self.wake)
        self._stop_at = time.monotonic() + PATIENCE_SECONDS
        self._stopping.set()
        self.check()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            while not self._is_done():
                try:
                    self._round()
                except Unavailable:
                    self._stopping.wait(POLL_SECONDS)
                except Exception:
                    log.exception("the webhook worker failed a turn")
                    self._stopping.wait(POLL_SECONDS)
                if not self._is_done():
                    self._wait()
                if self._stopping.is_set() and time.monotonic() > self._stop_at:
                    self._give_up()

    def _is_done(self) -> bool:
        return self._stopping.is_set() and not self._under_way and not self._results

    def _round(self) -> None:
        """One look at the outbox: results back, entries out."""
        self._recover()
        while True:
            self._drain()
            finished = list(self._results)
            room = 0 if self._stopping.is_set() else SENDERS - len(self._under_way)
            if not finished and not (room > 0 and (self._has_news or self._has_due())):
                return
            self._has_news = False
            claimed = run_write(partial(self._exchange, finished, room))
            del self._results[: len(finished)]
            for one in claimed:
                self._under_way[one.entry_id] = one
                threading.Thread(
                    target=self._send, args=(one,), name="webhook-sender", daemon=True
                ).start()
            if len(claimed) < max(room, 1):
                return

    def _recover(self) -> None:
        """Take back what others left in their hands."""
        moment = time.monotonic()
        if self._recovered_at is None or moment - self._recovered_at > RECOVERY_MS / 1000:
            run_write(outbox.recover)
            self._recovered_at = moment

    def _has_due(self) -> bool:
        """Whether anything is due, without a write: an idle worker must cost nothing."""
        with reading():
            self._next_due = outbox.next_due()
        return self._next_due is not None and self._next_due <= now_ms()

    def _exchange(self, finished: list[Result], room: int) -> list[Claimed]:
        if finished:
            for lost in outbox.complete_all(finished):
                log.warning("a delivery ended after its lease", extra={"entry": lost.entry_id})
        claimed = outbox.claim(self._owner, room) if room > 0 else []
        self._next_due = outbox.next_due()
        return claimed

    def _send(self, claimed: Claimed) -> None:
        """In a thread of its own."""
        try:
            outcome = self._sender(claimed.attempt, self._limits)
        except Exception:
            log.exception("an attempt failed in an unforeseen way")
            outcome = DeliveryOutcome(None, 0, "internal error", True)
        self._signals.put((claimed, outcome))

    def _wait(self) -> None:
        """Sleep until something happens, then take in all that happened."""
        try:
            self._take(self._signals.get(timeout=self._sleep_seconds()))
        except queue.Empty:
            return
        self._drain()

    def _sleep_seconds(self) -> float:
        if self._stopping.is_set():
            return max(0.005, min(POLL_SECONDS, self._stop_at - time.monotonic()))
        if self._next_due is None or len(self._under_way) >= SENDERS:
            return POLL_SECONDS
        return min(POLL_SECONDS, max(0.005, (self._next_due - now_ms()) / 1000))

    def _drain(self) -> None:
        while True:
            try:
                self._take(self._signals.get_nowait())
            except queue.Empty:
                return

    def _take(self, signal: Result | bool) -> None:
        if isinstance(signal, bool):
            self._has_news = self._has_news or signal
        # One that was given up on already may still come.
        elif self._under_way.pop(signal[0].entry_id, None) is not None:
            self._results.append(signal)

    def _give_up(self) -> None:
        """Count as interrupted what is still under way, so that its row is written."""
        lost = list(self._under_way.values())
        self._under_way.clear()
        self._results += [(claimed, outbox.INTERRUPTED) for claimed in lost]
