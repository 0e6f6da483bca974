"""Measure many bots at once: 32 that share a queue of 300 tickets, and 500 that wait for news.

    python -m tests.bench.agents [--database sqlite] [--only drain]

A lost call is one that a bot would not have needed if it were alone. The cost of waiting bots is
measured by unrelated reads and writes, alternately without and with them.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.bench.data import SECRET, database
from tests.support.drain import drain, filled
from tests.support.serving import Served, serving
from tests.support.waiting import Office, answered
from tests.support.workspace import owner_of

TICKETS, BOTS = 300, 32
WAITING = 500
ROUNDS, SAMPLES = 3, 150
# The cost of starting to wait depends on what happened in the seconds before.
PAUSE_SECONDS, ARRIVAL_SECONDS = 11, 8


def main() -> None:
    """Print one table per measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("drain", "waiting"), default="")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    asked = parser.parse_args()
    kinds = ("sqlite", "postgresql") if asked.database == "both" else (asked.database,)
    if asked.only != "waiting":
        _print_drains(kinds)
    if asked.only != "drain":
        _print_waiting(kinds)


def _print_drains(kinds: tuple[str, ...]) -> None:
    print("| | calls | lost | tickets/s |\n|---|---|---|---|")
    for kind in kinds:
        with _served(kind) as served:
            owner = owner_of(served)
            filled(owner, TICKETS)
            drained = drain(owner, BOTS)
            assert len(drained.claims) == sum(drained.claims.values()) == TICKETS
            lost = drained.calls - 2 * TICKETS - BOTS
            speed = TICKETS / drained.seconds
            print(f"| {kind} | {drained.calls} | {lost} | {speed:.0f} |", flush=True)


def _print_waiting(kinds: tuple[str, ...]) -> None:
    names = ("", "MiB more", "p50 ms", "p95", "p50, 500 wait", "p95", "ms to begin")
    print(f"\n| {' | '.join(names)} |\n{'|---' * len(names)}|")
    for kind in kinds:
        with _served(kind) as served:
            print(_waiting(kind, served), flush=True)


@contextmanager
def _served(kind: str) -> Iterator[Served]:
    with (
        tempfile.TemporaryDirectory(prefix="docket-bench-") as made,
        database(kind, Path(made)) as place,
    ):
        settings = {"DATABASE_URL": place.url, "SECRET_KEY": SECRET, "WORKERS": ""}
        with serving(Path(made) / "instance", **settings) as served:
            yield served


def _waiting(kind: str, served: Served) -> str:
    """Return a row of the second table."""
    office = Office(served)
    for _ in range(WAITING):
        office.bot()
    workers = [psutil.Process(number) for number in served.workers()]
    memory, alone, beside, arrivals = [], [], [], []
    for _ in range(ROUNDS):
        time.sleep(PAUSE_SECONDS)
        before = sum(one.memory_info().rss for one in workers)
        alone += office.times(SAMPLES)
        time.sleep(PAUSE_SECONDS)
        with office.waits() as waiting:
            # All calls have arrived, and none is answered.
            spent = _processor(workers)
            assert not answered(waiting, ARRIVAL_SECONDS)
            arrivals.append(_processor(workers) - spent)
            beside += office.times(SAMPLES)
            memory.append(sum(one.memory_info().rss for one in workers) - before)
    shown = [f"{1000 * value:.1f}" for times in (alone, beside) for value in _quantiles(times)]
    arrival = 1000 * statistics.median(arrivals) / WAITING
    return f"| {kind} | {max(memory) / 2**20:.0f} | {' | '.join(shown)} | {arrival:.1f} |"


def _processor(workers: list[psutil.Process]) -> float:
    """Return the workers' processor time in seconds."""
    return sum(sum(one.cpu_times()[:2]) for one in workers)


def _quantiles(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    main()
