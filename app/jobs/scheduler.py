"""The clock of a server process: it wakes the deliveries every second and sweeps every hour.

The search index is flushed when something was put into it, and now and then.
"""

import logging
import threading
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

from app.accounts import failure_windows
from app.config import Settings
from app.core.context import request_id
from app.core.errors import Unavailable
from app.database.session import run_write
from app.jobs.sweeping import INTERVAL_MINUTES, SWEEPERS, sweep
from app.search.flush import Flusher
from app.webhooks.worker import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1
# Between two looks at what nobody flushed.
FLUSH_SECONDS = 15
# Between two looks at which minutes of failed credentials are over.
FAILURES_SECONDS = 20
# The first sweep, after the start.
FIRST_SWEEP_SECONDS = 60


class Jobs:
    """Everything that one process does in the background, from ``start`` to ``stop``."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._worker = Worker(app)
        self._flusher = Flusher(app)
        self._ended = threading.Lock()
        self._stopping = threading.Event()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            daemon=True,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": 30},
        )

    def start(self) -> None:
        """Begin."""
        # The library says at INFO that each of its jobs ran.
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        self._scheduler.add_job(self._worker.check, "interval", seconds=POLL_SECONDS)
        self._scheduler.add_job(self._flusher.check, "interval", seconds=FLUSH_SECONDS)
        self._scheduler.add_job(self._tell_failures, "interval", seconds=FAILURES_SECONDS)
        for number, name in enumerate(SWEEPERS):
            self._scheduler.add_job(
                self._sweep,
                "interval",
                minutes=INTERVAL_MINUTES,
                args=[name],
                start_date=_seconds_from_now(FIRST_SWEEP_SECONDS + number),
            )
        self._worker.start()
        self._flusher.start()
        self._scheduler.start()

    def stop(self) -> None:
        """End: nothing new is begun, what is under way is waited for a little. Once is enough."""
        if not self._ended.acquire(blocking=False):
            return
        self._stopping.set()
        self._scheduler.shutdown(wait=False)
        self._flusher.stop()
        self._worker.stop()

    def _tell_failures(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                run_write(failure_windows.tell)
            except Unavailable:
                log.warning("failed credentials were not counted: the database is unavailable")

    def _sweep(self, name: str) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                settings: Settings = self._app.config["SETTINGS"]
                sweep(name, settings, may_go_on=lambda: not self._stopping.is_set())
            except Unavailable:
                log.warning("a sweep did not run: the database is unavailable")
            except Exception:
                log.exception("a sweep failed", extra={"sweeper": name})


def _seconds_from_now(seconds: int) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
