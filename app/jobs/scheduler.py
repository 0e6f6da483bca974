"""Scheduling the background jobs of a server process."""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from flask import Flask

from app.accounts import failure_windows, read_notes
from app.accounts.answering import answer_receipts
from app.config import Settings
from app.core import clock
from app.core.errors import Unavailable
from app.core.ids import request_id
from app.database.connect import follow_clock
from app.database.session import reading, run_write, session
from app.jobs.checkpointing import CHECK_SECONDS, Checkpointer
from app.jobs.sweeping import INTERVAL_MINUTES, SWEEPERS, sweep
from app.mail.worker import MailWorker
from app.notices.collecting import collect
from app.search.flush import Flusher
from app.webhooks.worker import Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 1
# The interval of checks for search documents that were not flushed when written.
FLUSH_SECONDS = 15
# The interval of reports of failed credentials.
FAILURES_SECONDS = 20
# The interval of storing bots' reads.
READS_SECONDS = 1
# The interval of measuring the clock of PostgreSQL.
FOLLOW_SECONDS = 10
# The interval of checks for news to mail to people.
NOTICES_SECONDS = 30
# The delay of the first sweep after the start of the process.
FIRST_SWEEP_SECONDS = 60
# The interval of checks for jobs that wait too long because the clock was set back.
CLOCK_SECONDS = 1


class FixedDelay(BaseTrigger):  # type: ignore[misc]  # an untyped library
    """A job is due some seconds from now, each time.

    The library's interval trigger lists each missed run. If the clock is set forward by a year,
    that takes a gigabyte.
    """

    def __init__(self, seconds: float) -> None:
        self._delay = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        return now + self._delay


class Jobs:
    """The background jobs of one process, from ``start`` to ``stop``."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._worker = Worker(app)
        self._settings: Settings = app.config["SETTINGS"]
        self._mail_worker = MailWorker(app) if self._settings.smtp_url else None
        self._flusher = Flusher(app)
        self._checkpointer = Checkpointer(self._settings)
        self._reads_wait = False
        self._is_host_off = False
        self._ended = threading.Lock()
        self._stopping = threading.Event()
        self._scheduler = BackgroundScheduler(
            timezone="UTC",
            daemon=True,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def start(self) -> None:
        # At INFO, the library logs every run of a job.
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        self._run_every(POLL_SECONDS, self._worker.check)
        self._run_every(FLUSH_SECONDS, self._flusher.check)
        self._run_every(FAILURES_SECONDS, self._report_failures)
        self._run_every(READS_SECONDS, self._store_reads)
        self._run_every(CHECK_SECONDS, self._checkpoint)
        if not self._settings.is_sqlite:
            self._run_every(FOLLOW_SECONDS, self._follow_clock)
        for number, name in enumerate(SWEEPERS):
            first = datetime.now(UTC) + timedelta(seconds=FIRST_SWEEP_SECONDS * (1 + number / 60))
            self._run_every(INTERVAL_MINUTES * 60, self._sweep, args=[name], next_run_time=first)
        self._worker.start()
        if self._mail_worker is not None:
            self._run_every(NOTICES_SECONDS, self._collect_notices)
            self._mail_worker.start()
        self._flusher.start()
        self._scheduler.start()
        threading.Thread(target=self._watch_clock, name="clock-watch", daemon=True).start()

    def _run_every(self, seconds: float, job: Callable[..., None], **options: Any) -> None:
        self._scheduler.add_job(job, FixedDelay(seconds), **options)

    def _watch_clock(self) -> None:
        """Let no job wait longer than its delay, as the scheduler waits for wall-clock times."""
        while not self._stopping.wait(CLOCK_SECONDS):
            now = datetime.now(UTC)
            for job in self._scheduler.get_jobs():
                latest = job.trigger.get_next_fire_time(None, now)
                if job.next_run_time > latest:
                    job.modify(next_run_time=latest)
            # Jobs may have become due because the clock was set forward.
            self._scheduler.wakeup()

    def stop(self) -> None:
        """Start no more jobs and wait some seconds for running ones; later calls do nothing."""
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
                # Log only the first of several failures in a row. Waiting reads are kept.
                if not self._reads_wait:
                    is_outage = isinstance(error, Unavailable)
                    log.warning("reads of bots wait", exc_info=None if is_outage else error)
                self._reads_wait = True

    def _follow_clock(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            try:
                with reading():
                    follow_clock(session.connection())
            except Unavailable:
                # The clocks do not part in a while.
                return
        off = clock.host_is_off_ms()
        is_off = abs(off) > clock.HOST_MAY_BE_OFF_MS
        if is_off and not self._is_host_off:
            log.warning("the clock of this host is wrong", extra={"ahead_ms": off})
        self._is_host_off = is_off

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
                sweep(name, self._settings, may_go_on=lambda: not self._stopping.is_set())
            except Unavailable:
                # The log has the reason of the database or the file store.
                log.warning("a sweep did not run", extra={"sweeper": name})
            except Exception:
                log.exception("a sweep failed", extra={"sweeper": name})
