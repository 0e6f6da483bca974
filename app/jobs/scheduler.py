"""Scheduling the background jobs of a server process."""

import logging
import threading
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler
from flask import Flask

from app.accounts import failure_windows, read_notes
from app.accounts.answering import answer_receipts
from app.config import Settings
from app.core.errors import Unavailable
from app.core.ids import request_id
from app.database.session import run_write
from app.jobs.checkpointing import CHECK_SECONDS, Checkpointer
from app.jobs.sweeping import INTERVAL_MINUTES, SWEEPERS, sweep
from app.mail.worker import MailWorker
from app.notices.collecting import collect
from app.search.flush import Flusher
from app.webhooks.worker import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1
# Between two checks for search documents that were not flushed when they were written.
FLUSH_SECONDS = 15
# Between two reports of failed credentials.
FAILURES_SECONDS = 20
# Between two times that reads of bots are stored.
READS_SECONDS = 1
# Between two looks for news that people get by mail.
NOTICES_SECONDS = 30
# From the start of the process to its first sweep.
FIRST_SWEEP_SECONDS = 60


class Jobs:
    """The background jobs of one process, from ``start`` to ``stop``."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._worker = Worker(app)
        settings: Settings = app.config["SETTINGS"]
        self._mail_worker = MailWorker(app) if settings.smtp_url else None
        self._flusher = Flusher(app)
        self._checkpointer = Checkpointer(app.config["SETTINGS"])
        self._reads_wait = False
        self._ended = threading.Lock()
        self._stopping = threading.Event()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            daemon=True,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": 30},
        )

    def start(self) -> None:
        # At INFO the library logs every run of a job.
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        self._scheduler.add_job(self._worker.check, "interval", seconds=POLL_SECONDS)
        self._scheduler.add_job(self._flusher.check, "interval", seconds=FLUSH_SECONDS)
        self._scheduler.add_job(self._report_failures, "interval", seconds=FAILURES_SECONDS)
        self._scheduler.add_job(self._store_reads, "interval", seconds=READS_SECONDS)
        self._scheduler.add_job(self._checkpoint, "interval", seconds=CHECK_SECONDS)
        for number, name in enumerate(SWEEPERS):
            self._scheduler.add_job(
                self._sweep,
                "interval",
                minutes=INTERVAL_MINUTES,
                args=[name],
                start_date=_seconds_from_now(FIRST_SWEEP_SECONDS * (1 + number / 60)),
            )
        self._worker.start()
        if self._mail_worker is not None:
            self._scheduler.add_job(self._collect_notices, "interval", seconds=NOTICES_SECONDS)
            self._mail_worker.start()
        self._flusher.start()
        self._scheduler.start()

    def stop(self) -> None:
        """Start nothing more and wait some seconds for running jobs; later calls do nothing."""
        if not self._ended.acquire(blocking=False):
            return
        self._stopping.set()
        self._scheduler.shutdown(wait=False)
        self._flusher.stop()
        if self._mail_worker is not None:
            self._mail_worker.stop()
        self._worker.stop()
        self._store_reads(last=True)

    def _report_failures(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                run_write(failure_windows.record_finished)
            except Unavailable:
                log.warning("failed credentials were not counted: the database is unavailable")

    def _store_reads(self, *, last: bool = False) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                read_notes.store_notes()
                answer_receipts()
                if last:
                    read_notes.release()
                self._reads_wait = False
            except Exception as error:
                # Only the first of several failures in a row; what waits is kept.
                if not self._reads_wait:
                    is_outage = isinstance(error, Unavailable)
                    log.warning("reads of bots wait", exc_info=None if is_outage else error)
                self._reads_wait = True

    def _collect_notices(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                collect(may_go_on=lambda: not self._stopping.is_set())
            except Unavailable:
                log.warning("notices wait: the database is unavailable")
            except Exception:
                log.exception("notices were not collected")

    def _checkpoint(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                self._checkpointer.check(may_go_on=lambda: not self._stopping.is_set())
            except Unavailable:
                log.warning("no checkpoint was made: the database is unavailable")
            except Exception:
                log.exception("a checkpoint failed")

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


def _seconds_from_now(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
