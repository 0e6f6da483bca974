"""``make soak``: an hour of people, bots, webhooks and sweeps at half of the server's capacity.

Watched for growth: memory, file descriptors and threads of every process, and response times.
Requests are sent at fixed moments, even if others are still waiting, and are timed from when they
were due. The speed of a shared machine varies, so a fixed piece of work is timed alongside, and
response times may grow in proportion. The p99 of a piece of the run is the median of its minutes'
p99s: one disturbed minute means nothing, but a tail that has grown shows in every minute.
"""

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
from flask import Flask
from sqlalchemy import update

from app import create_app
from app.config import Settings
from app.core.clock import DAY_MS, now_ms
from app.database import schema
from app.database.idempotency import IdempotencyRecord
from app.database.session import run_write, session
from app.webhooks.models import OutboxEntry
from tests.bench.filling import PASSWORD, USERNAME, fill
from tests.bench.operations import API
from tests.support.postgres import start_cluster
from tests.support.receiver import SECRET, Receiver, receiving
from tests.support.serving import ROOT, Served, environment, serving, until
from tests.torture.mixed_load import Client, work
from tests.torture.pieces import Sample, judge, pieces

KINDS = ("sqlite", "postgresql")
CLIENTS = 12
SAMPLE_SECONDS = 5.0
SAME_WORK = 20_000
SWEEP_SECONDS = 60.0
CAPACITY_SECONDS = 20.0
# At the same rate, unmeasured: caches fill, which does not count as growth.
WARMING_SECONDS = 240.0
FURNISHED_SECONDS = 600.0


def sizes(parent: int) -> tuple[float, int, int]:
    """MiB, file descriptors and threads of the server's processes together."""
    root = psutil.Process(parent)
    every = [root, *root.children(recursive=True)]
    memory = sum(one.memory_full_info().pss for one in every) / 2**20
    return memory, sum(one.num_fds() for one in every), sum(one.num_threads() for one in every)


def same_work() -> float:
    """Return the processor milliseconds that a fixed piece of work takes at this moment.

    Waiting for the processor does not count: the server's own load must not excuse it.
    """
    began = time.thread_time()
    sum(number * number for number in range(SAME_WORK))
    return (time.thread_time() - began) * 1000


@contextmanager
def meanwhile(every: float, act: Callable[[], Any]) -> Iterator[None]:
    """Call ``act`` every so many seconds in another thread; raise its failure at the end."""
    over = threading.Event()

    def turns() -> None:
        while not over.wait(every):
            act()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(turns)
        try:
            yield
        finally:
            over.set()
    running.result()


def age_and_sweep(app: Flask, instance: Path, port: int, settings: dict[str, Any]) -> None:
    """Make all stored responses and finished deliveries old, then sweep as an operator would."""
    with app.app_context():
        run_write(lambda: session.execute(update(IdempotencyRecord).values(expires_at=now_ms())))
        long_ago = now_ms() - 2 * DAY_MS
        finished = update(OutboxEntry).where(OutboxEntry.finished_at > long_ago)
        run_write(lambda: session.execute(finished.values(finished_at=long_ago)))
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "sweep"]
    subprocess.run(
        command,
        cwd=ROOT,
        env=environment(instance, port, **settings),
        check=True,
        timeout=60,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def furnished(kind: str, directory: Path, tickets: int) -> Iterator[tuple[Any, ...]]:
    """Start a filled database, a receiver, and the server with its default number of processes."""
    with ExitStack() as held:
        url = f"sqlite:///{directory / 'soak.db'}"
        if kind == "postgresql":
            cluster = start_cluster()
            held.callback(cluster.stop)
            url = cluster.create_database("soak")
        receiver = held.enter_context(receiving(directory))
        app = create_app(
            Settings(
                instance_dir=directory,
                database_url=url,
                secret_key="a secret key of the tests, long enough",
                base_url="http://localhost",
                log_level="WARNING",
            )
        )
        with app.app_context():
            schema.upgrade()
            world = fill(app.config["SETTINGS"], tickets)
        settings = {
            "DATABASE_URL": url,
            "SECRET_KEY": "a secret key of the tests, long enough",
            "LOG_LEVEL": "WARNING",
            "WORKERS": "",
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOK_CA_BUNDLE": str(receiver.ca_file),
        }
        served = held.enter_context(serving(directory / "instance", **settings))
        cookie = _subscribed(served, receiver)
        clients = [Client(served.port, world, cookie, number) for number in range(CLIENTS)]
        sweep = lambda: age_and_sweep(app, directory / "instance", served.port, settings)  # noqa: E731
        yield served, receiver, clients, sweep


def _subscribed(served: Served, receiver: Receiver) -> str:
    """Create a webhook for new tickets; return the cookie of the person who made it."""
    login = {"username": USERNAME, "password": PASSWORD}
    answer = served.request("POST", f"{API}/auth/login", login)
    cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
    hook = {"url": receiver.url, "secret": SECRET, "event_types": ["ticket.created"]}
    made = served.request("POST", f"{API}/webhooks", hook, Cookie=cookie)
    assert made.status == 201, made.body
    return cookie


def soak(
    kind: str,
    minutes: float,
    tickets: int,
    rate: float | None,
    ready: Callable[[], Any] = lambda: None,
) -> bool:
    """Soak one database; return True if everything stayed flat and nothing was lost.

    ``ready`` is called when setup is done, before the server is measured: it may wait for another.
    """
    with (
        tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as directory,
        furnished(kind, Path(directory), tickets) as (served, receiver, clients, sweep),
    ):
        ready()
        before = work(clients, CAPACITY_SECONDS, None)
        capacity = len(before.answers) / CAPACITY_SECONDS
        pace = rate or capacity / 2
        print(f"{kind}: {capacity:.0f} a second at most; {pace:.0f} for {minutes} min", flush=True)
        warming = work(clients, WARMING_SECONDS, pace)
        found: list[Sample] = []
        began = time.monotonic()
        with (
            meanwhile(
                SAMPLE_SECONDS,
                lambda: found.append(
                    (time.monotonic() - began, *sizes(served.process.pid), same_work())
                ),
            ),
            meanwhile(SWEEP_SECONDS, sweep),
        ):
            seen = work(clients, minutes * 60, pace)
        parts = pieces(seen, found, minutes * 60)
        for part in parts:
            print(
                f"  {part.per_second:6.0f}/s  p50 {part.median:5.1f} ms  p99 {part.tail:6.1f} ms"
                f"  {part.mebibytes:5.0f} MiB  {part.files} files  {part.threads} threads"
                f"  same work {part.machine:.2f} ms"
            )
        for name, tail in sorted(parts[0].tails.items()):
            print(f"  p99 of {name}: {tail:.0f} ms, at last {parts[-1].tails.get(name, 0.0):.0f}")
        wrong = judge(parts[0], parts[-1])
        failures = before.failures + warming.failures + seen.failures
        created = before.created | warming.created | seen.created
        try:
            until(lambda: created <= _arrived(receiver), 60)
        except AssertionError:
            wrong.append(f"{len(created - _arrived(receiver))} events that never arrived")
        print(f"  {len(created)} tickets made, all told; failures: {dict(failures) or 'none'}")
        print(f"  {'grown or lost: ' + ', '.join(wrong) if wrong else 'flat'}", flush=True)
        return not wrong and not failures


def _arrived(receiver: Receiver) -> set[str]:
    return {one.body["target"]["display_id"] for one in list(receiver.received)}


def _together(kinds: list[str], minutes: float, tickets: int, rate: float | None) -> list[bool]:
    """Soak all at once, each at half of its capacity measured while the others run too."""
    with multiprocessing.Manager() as manager, ProcessPoolExecutor(len(kinds)) as pool:
        met = manager.Barrier(len(kinds), timeout=FURNISHED_SECONDS)
        running = [pool.submit(soak, kind, minutes, tickets, rate, met.wait) for kind in kinds]
        return [one.result() for one in running]


def main() -> int:
    """Return 0 if everything stayed flat on every database."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="on each database (60)")
    parser.add_argument("--tickets", type=int, default=10_000, help="to begin with (10000)")
    parser.add_argument("--rate", type=float, help="requests a second (half of what it can)")
    parser.add_argument("--db", choices=KINDS, action="append")
    parser.add_argument("--together", action="store_true", help="all databases at the same time")
    asked = parser.parse_args()
    kinds = asked.db or list(KINDS)
    if asked.together:
        kept = _together(kinds, asked.minutes, asked.tickets, asked.rate)
    else:
        kept = [soak(kind, asked.minutes, asked.tickets, asked.rate) for kind in kinds]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
