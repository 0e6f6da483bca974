"""The worker of a process: one thread that uses the database, and one thread per attempt.

The first thread claims due entries and records results, many in one transaction. So no database
connection is held during HTTP, and a slow receiver delays no other. All threads are daemons, so
that a slow attempt does not keep the process from ending.
"""

import logging
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from functools import partial

from flask import Flask

from app.core.clock import now_ms
from app.core.errors import Unavailable
from app.core.ids import request_id
from app.database.session import reading, run_write
from app.webhooks import messages, outbox
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.connecting import Limits, limits
from app.webhooks.outbox import Claimed, Result
from app.webhooks.sending import send

log = logging.getLogger(__name__)

# The most attempts in flight, each in a thread.
SENDERS = 128
# The longest time that the thread sleeps: other processes fill the outbox without waking it.
POLL_SECONDS = 1.0
# How often the worker looks for expired leases.
RECOVERY_MS = 15_000
# How long ``stop`` waits for attempts in flight; then they count as interrupted.
DRAIN_SECONDS = 5.0
# Leaves the database time to record the interrupted attempts.
STOP_SECONDS = DRAIN_SECONDS + 5.0

Sender = Callable[[DeliveryAttempt, Limits], DeliveryOutcome]


class Worker:
    """Delivers due entries until it is stopped."""

    def __init__(self, app: Flask, *, sender: Sender = send) -> None:
        self._app = app
        self._sender = sender
        self._owner = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._limits: Limits = limits(app)
        # A result, True if the outbox was filled, or False to check it.
        self._signals: queue.SimpleQueue[Result | bool] = queue.SimpleQueue()
        self._is_filled = True
        self._next_due: int | None = None
        self._in_flight: dict[str, Claimed] = {}
        # Results that are not yet recorded.
        self._results: list[Result] = []
        self._stopping = threading.Event()
        self._stop_at = 0.0
        self._recovered_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="webhook-worker", daemon=True)

    def start(self) -> None:
        outbox.outbox_filled.listen(self.wake)
        self._thread.start()

    def wake(self) -> None:
        """Claim at once, because the outbox was filled."""
        self._signals.put(True)

    def check(self) -> None:
        """Check for due entries: retries, and those from other processes."""
        self._signals.put(False)

    def stop(self) -> None:
        """Claim nothing more, wait up to ``DRAIN_SECONDS`` for attempts, and record results.

        Attempts that take longer are recorded as interrupted, so the next process can retry them.
        """
        outbox.outbox_filled.forget(self.wake)
        self._stop_at = time.monotonic() + DRAIN_SECONDS
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
        return self._stopping.is_set() and not self._in_flight and not self._results

    def _round(self) -> None:
        """Record results and claim entries until nothing is due."""
        self._recover()
        while True:
            self._drain()
            finished = list(self._results)
            room = 0 if self._stopping.is_set() else SENDERS - len(self._in_flight)
            if not finished and not (room > 0 and (self._is_filled or self._has_due())):
                return
            self._is_filled = False
            claimed = run_write(partial(self._exchange, finished, room))
            del self._results[: len(finished)]
            for entry in claimed:
                self._in_flight[entry.entry_id] = entry
                threading.Thread(
                    target=self._send, args=(entry,), name="webhook-sender", daemon=True
                ).start()
            if len(claimed) < max(room, 1):
                return

    def _recover(self) -> None:
        moment = time.monotonic()
        if self._recovered_at is None or moment - self._recovered_at > RECOVERY_MS / 1000:
            run_write(outbox.recover)
            self._recovered_at = moment

    def _has_due(self) -> bool:
        """Whether an entry is due; read-only, so that an idle worker is cheap."""
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
        """Runs in a separate thread."""
        try:
            outcome = self._sender(claimed.attempt, self._limits)
        except Exception:
            log.exception("an attempt failed in an unforeseen way")
            outcome = DeliveryOutcome(None, 0, messages.INTERNAL_ERROR, True)
        self._signals.put((claimed, outcome))

    def _wait(self) -> None:
        """Sleep until the next signal or due entry, then take all signals."""
        try:
            self._take(self._signals.get(timeout=self._sleep_seconds()))
        except queue.Empty:
            return
        self._drain()

    def _sleep_seconds(self) -> float:
        if self._stopping.is_set():
            return max(0.005, min(POLL_SECONDS, self._stop_at - time.monotonic()))
        if self._next_due is None or len(self._in_flight) >= SENDERS:
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
            self._is_filled = self._is_filled or signal
        # A result may arrive after ``_give_up`` counted it as interrupted.
        elif self._in_flight.pop(signal[0].entry_id, None) is not None:
            self._results.append(signal)

    def _give_up(self) -> None:
        """Count attempts in flight as interrupted, so that they are recorded."""
        self._results += [(claimed, outbox.INTERRUPTED) for claimed in self._in_flight.values()]
        self._in_flight.clear()
