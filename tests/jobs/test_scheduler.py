"""The scheduler of a server process: it starts, sweeps on its own, and stops."""

import threading
import time
from datetime import datetime, timedelta

import pytest
from apscheduler.schedulers import base

from app.core.clock import now_ms
from app.database.session import reading, session
from app.jobs import scheduler
from app.jobs.scheduler import Jobs
from app.jobs.sweeping import SWEEPERS
from tests.support.serving import until
from tests.support.story import events

pytestmark = pytest.mark.slow


@pytest.fixture
def soon(monkeypatch):
    """Run the first sweeps within a second."""
    monkeypatch.setattr(scheduler, "FIRST_SWEEP_SECONDS", 0.2)


def swept(app):
    return sorted(
        event.payload["sweeper"] for event in events(app, event_type="system.sweeper_ran")
    )


def test_each_sweeper_runs_once_however_many_processes_there_are(app, cast, soon, monkeypatch):
    tried = []

    def sweep(name, *args, **options):
        scheduler_sweep(name, *args, **options)
        tried.append(name)

    scheduler_sweep = scheduler.sweep
    monkeypatch.setattr(scheduler, "sweep", sweep)
    processes = [Jobs(app) for _ in range(3)]
    for one in processes:
        one.start()
    try:
        until(lambda: len(tried) == 3 * len(SWEEPERS))
        assert swept(app) == sorted(SWEEPERS)
    finally:
        for one in processes:
            one.stop()


def test_a_stop_is_quick_and_leaves_no_thread(app, cast, soon):
    threads = {"webhook-worker", "index-flusher", "clock-watch"}
    before = set(threading.enumerate())
    jobs = Jobs(app)
    jobs.start()
    until(lambda: swept(app))
    began = time.monotonic()
    jobs.stop()
    jobs.stop()
    assert time.monotonic() - began < 2

    def left():
        ours = set(threading.enumerate()) - before
        # Wait for a running sweep, so that it does not write into the next test.
        kinds = ("APS", "ThreadPoolExecutor")
        return [one for one in ours if one.name in threads or one.name.startswith(kinds)]

    until(lambda: not left())


def test_a_server_warns_once_that_the_clock_of_its_host_is_wrong(
    app, database, monkeypatch, caplog
):
    if database.kind != "postgresql":
        return
    with app.app_context(), reading():
        session.connection()
    monkeypatch.setattr("app.core.clock.host_ms", lambda: now_ms() - 20_000)
    jobs = Jobs(app)
    for _ in range(2):
        jobs._follow_clock()
    (warned,) = caplog.records
    assert warned.message == "the clock of this host is wrong"
    assert warned.ahead_ms < -19_000


@pytest.fixture
def clock(monkeypatch):
    """A scheduler clock that a test sets: ``clock.ahead`` of the real one."""

    class Clock(datetime):
        ahead = timedelta(0)

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + cls.ahead

    for module in (base, scheduler):
        monkeypatch.setattr(module, "datetime", Clock)
    return Clock


@pytest.mark.one_database
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([timedelta(hours=-1)], id="back"),
        pytest.param([timedelta(hours=-1), timedelta(0)], id="back and right again"),
        pytest.param([timedelta(days=40)], id="ahead"),
        pytest.param([timedelta(days=40), timedelta(0)], id="ahead and right again"),
    ],
)
def test_a_clock_that_is_set_delays_no_job(app, clock, monkeypatch, steps):
    runs = []
    monkeypatch.setattr(scheduler.read_notes, "store_notes", lambda: runs.append(1))
    for name in ("READS_SECONDS", "CLOCK_SECONDS"):
        monkeypatch.setattr(scheduler, name, 0.2)
    jobs = Jobs(app)
    jobs.start()
    try:
        for step in steps:
            until(lambda: runs)
            clock.ahead = step
            # A run may have been in progress.
            for _ in range(3):
                runs.clear()
                until(lambda: runs, seconds=5)
    finally:
        jobs.stop()
