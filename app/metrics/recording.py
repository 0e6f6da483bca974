"""Counters and histograms of all worker processes, in files that they share.

Each worker has its own files in a folder of INSTANCE_DIR, named after its number. The replacement
of a dead worker continues its files, so counts go on and the files stay few. The server empties the
folder when it starts. Labels have few values: routes are rules of the URL map, and anything that a
client invents is counted as ``other``.
"""

import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.multiprocess import MultiProcessCollector

from app.core import measuring
from app.core.measuring import UnitOfWorkKind

# The environment variable in which the library looks for the folder.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
OTHER = "other"
# The time between two flushes of a worker, and the most measurements that wait for one.
FLUSH_SECONDS = 0.5
MAX_QUEUE_LENGTH = 100_000

log = logging.getLogger(__name__)

REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
DATABASE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10)
DELIVERY_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class _Worker:
    """The name of this process in its file names."""

    name = "parent"


class Recorder:
    """Takes measurements; thread-safe. Create one after FOLDER is set.

    A request only queues them. ``flush``, which a thread of each worker calls, counts them.
    """

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._queue: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque(
            maxlen=MAX_QUEUE_LENGTH
        )
        self._requests = Counter(
            "docket_requests",
            "Requests, by method, route, status and kind of actor",
            ("method", "route", "status", "actor"),
            registry=None,
        )
        self._request_seconds = Histogram(
            "docket_request_seconds",
            "Time to answer a request, by route",
            ("route",),
            buckets=REQUEST_SECONDS,
            registry=None,
        )
        self._database_seconds = Histogram(
            "docket_database_seconds",
            "Duration of units of work in the database, by kind: read or write",
            ("kind",),
            buckets=DATABASE_SECONDS,
            registry=None,
        )
        self._collisions = Counter(
            "docket_database_collisions",
            "Units of work retried after a conflict",
            registry=None,
        )
        self._lock_seconds = Histogram(
            "docket_writer_lock_wait_seconds",
            "Time that writes waited for the writer lock of SQLite",
            buckets=DATABASE_SECONDS,
            registry=None,
        )
        self._delivery_seconds = Histogram(
            "docket_delivery_seconds",
            "Webhook delivery attempts, by outcome",
            ("status",),
            buckets=DELIVERY_SECONDS,
            registry=None,
        )
        self._tool_calls = Counter(
            "docket_tool_calls", "Tool calls of bots", ("tool", "status"), registry=None
        )
        self._tool_seconds = Histogram(
            "docket_tool_call_seconds",
            "Duration of tool calls by bots",
            buckets=REQUEST_SECONDS,
            registry=None,
        )
        # The library looks labels up under a lock; there are few values, so cache them.
        self._requests_of = cache(self._requests.labels)
        self._request_seconds_of = cache(self._request_seconds.labels)
        self._database_seconds_of = cache(self._database_seconds.labels)

    def flush(self) -> None:
        """Count what is queued."""
        with suppress(IndexError):
            while True:
                count, measured = self._queue.popleft()
                count(*measured)

    def forget(self) -> None:
        """Drop the queue: a forked worker inherits measurements that its parent counts."""
        self._queue.clear()

    def request(self, method: str, route: str, status: int, actor: str, took: float) -> None:
        self._queue.append((self._count_request, (method, route, status, actor, took)))

    def _count_request(self, method: str, route: str, status: int, actor: str, took: float) -> None:
        self._requests_of(method, route, status, actor).inc()
        self._request_seconds_of(route).observe(took)

    def unit_of_work(self, kind: UnitOfWorkKind, took: float) -> None:
        self._queue.append((self._count_unit, (kind, took)))

    def _count_unit(self, kind: UnitOfWorkKind, took: float) -> None:
        self._database_seconds_of(kind).observe(took)

    def collision(self) -> None:
        self._collisions.inc()

    def writer_lock(self, waited: float) -> None:
        self._queue.append((self._lock_seconds.observe, (waited,)))

    def delivery(self, status: str, took: float) -> None:
        self._delivery_seconds.labels(status).observe(took)

    def tool_call(self, tool: str, status: str, took: float) -> None:
        self._tool_calls.labels(tool if tool in self._tools else OTHER, status).inc()
        self._tool_seconds.observe(took)


def start(folder: Path, tools: Iterable[str]) -> None:
    """In the parent, before workers start: empty the folder and start measuring."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    _measure(folder, tools)


def flush() -> None:
    """Count the measurements of this process's requests."""
    if isinstance(measuring.measurements, Recorder):
        measuring.measurements.flush()


def enter_worker(number: int, folder: Path, tools: Iterable[str]) -> None:
    """In a worker, once: from here on, count in the files of its number."""
    _Worker.name = f"worker{number}"
    if measuring.measurements is None:
        # The worker was spawned, not forked.
        _measure(folder, tools)
    recorder = measuring.measurements
    if isinstance(recorder, Recorder):
        recorder.forget()
    threading.Thread(target=_flush_often, name="metrics", daemon=True).start()


def _flush_often() -> None:
    while True:
        time.sleep(FLUSH_SECONDS)
        try:
            flush()
        except Exception:
            log.exception("measurements were not counted")


def _measure(folder: Path, tools: Iterable[str]) -> None:
    os.environ[FOLDER] = str(folder)
    values.ValueClass = values.MultiProcessValue(  # type: ignore[no-untyped-call]
        lambda: _Worker.name
    )
    measuring.set_receiver(Recorder(frozenset(tools)))


def registry(folder: Path) -> CollectorRegistry:
    """The counts of all workers in this folder."""
    collected = CollectorRegistry()
    if folder.is_dir():
        MultiProcessCollector(collected, str(folder))  # type: ignore[no-untyped-call]
    return collected
