"""Measure every operation next to a bare Flask route under the same server, in one rotation.

Fill a database with N tickets, start the server as `make run` does, and send requests with wrk.
First run everything once, unmeasured, because a real server is warm. Then each round measures every
operation, with the yardstick before and after each; the result is the median of the rounds. Client
and server share the machine, whose speed varies, so compare shares, not figures of different
machines.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil

from tests.bench import report, wrk
from tests.bench.data import SECRET, cookie_of, database, filled
from tests.bench.filling import World
from tests.bench.operations import SDK_ECHO, Operation, operations
from tests.support.serving import ROOT, Served, serving, until, unused_port

# How long the yardstick is measured between two operations.
YARDSTICK_SECONDS = 1
# How long each operation runs before the first round: until both workers have cached pages.
WARM_UP_SECONDS = 4


def main() -> None:
    """Print the table, and write it to PERFORMANCE.md if requested."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--tickets", type=int, default=10_000, help="(10000)")
    parser.add_argument("--seconds", type=int, default=3, help="for each measurement (3)")
    parser.add_argument("--rounds", type=int, default=5, help="the median of so many (5)")
    parser.add_argument("--connections", type=int, default=8, help="(8)")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings")
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--keep", type=Path, help="keep data sets here, see tests.bench.data")
    parser.add_argument("--write", action="store_true", help="put the table into PERFORMANCE.md")
    asked = parser.parse_args()
    if not wrk.is_here():
        sys.exit("make bench needs wrk (apt-get install wrk).")
    kinds = ("sqlite", "postgresql") if asked.database == "both" else (asked.database,)
    tables = []
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="docket-bench-") as made, ExitStack() as stack:
            place = stack.enter_context(database(kind, Path(made), asked.keep))
            world = filled(place, asked.tickets)
            tables.append(_measured(kind, place.url, Path(made), world, asked))
    if asked.write:
        arguments = " ".join(sys.argv[1:])
        report.write(ROOT / "PERFORMANCE.md", arguments, _machine(), asked.tickets, tables)


def _measured(
    kind: str, url: str, directory: Path, world: World, asked: argparse.Namespace
) -> report.Table:
    settings = {"DATABASE_URL": url, "SECRET_KEY": SECRET, "WORKERS": ""}
    settings |= dict(one.split("=", 1) for one in asked.set)
    with serving(directory / "instance", **settings) as served:
        workers = len(served.workers())
        with _other("tests.bench.bare", str(workers), "8") as bare:
            chosen = [
                operation
                for operation in operations(world, cookie_of(served))
                if asked.only in operation.name
            ]
            lines = _rotate(kind, served, bare, chosen, asked)
        memory = _memory(served.process.pid)
        versus = _beside_the_sdk(served, chosen, asked)
        table = report.Table(kind, workers, lines, memory, versus)
    print(report.text(table), flush=True)
    return table


def _rotate(
    kind: str, served: Served, bare: int, chosen: list[Operation], asked: argparse.Namespace
) -> list[report.Line]:
    """Measure every operation once per round, with the yardstick in between."""
    yardstick = Operation("bare Flask route", (1.0, 1.0), [wrk.Request("/")])
    found: dict[str, list[wrk.Figures]] = {one.name: [] for one in (yardstick, *chosen)}
    shares: dict[str, list[float]] = {yardstick.name: [1.0], **{one.name: [] for one in chosen}}

    for operation in chosen:
        wrk.measure(
            served.port,
            operation.requests,
            connections=asked.connections,
            seconds=WARM_UP_SECONDS,
        )

    def measured(operation: Operation) -> float:
        """Return its requests per second."""
        port, seconds = served.port, asked.seconds
        if operation is yardstick:
            port, seconds = bare, YARDSTICK_SECONDS
        figures = wrk.measure(
            port, operation.requests, connections=asked.connections, seconds=seconds
        )
        found[operation.name].append(figures)
        return figures.per_second

    for _ in range(asked.rounds):
        before = measured(yardstick)
        for operation in chosen:
            many, behind = measured(operation), measured(yardstick)
            shares[operation.name].append(2 * many / (before + behind))
            before = behind
    return [
        report.Line(
            operation.name,
            _median(found[operation.name]),
            statistics.median(shares[operation.name]),
            operation.floors[kind != "sqlite"],
        )
        for operation in (yardstick, *chosen)
    ]


def _beside_the_sdk(
    served: Served, chosen: list[Operation], asked: argparse.Namespace
) -> report.Versus | None:
    """Alternate between get_self and the no-op tool of an SDK server, one connection each."""
    found = next((operation for operation in chosen if operation.name == "MCP get_self"), None)
    if found is None:
        return None
    ours: list[wrk.Figures] = []
    theirs: list[wrk.Figures] = []
    with _other("tests.bench.echo") as echo:
        for _ in range(asked.rounds):
            ours.append(_alone(served.port, found.requests, asked))
            theirs.append(_alone(echo, [SDK_ECHO], asked))
    return report.Versus(_median(ours), _median(theirs))


def _alone(port: int, requests: list[wrk.Request], asked: argparse.Namespace) -> wrk.Figures:
    return wrk.measure(port, requests, connections=1, seconds=asked.seconds)


def _median(rounds: list[wrk.Figures]) -> wrk.Figures:
    ordered = sorted(rounds, key=lambda one: one.per_second)
    return replace(ordered[len(ordered) // 2], failures=sum(one.failures for one in rounds))


@contextmanager
def _other(module: str, *arguments: str) -> Iterator[int]:
    """Run another server for comparison; yield its port."""
    port = unused_port()
    process = subprocess.Popen([sys.executable, "-m", module, str(port), *arguments], cwd=ROOT)
    try:
        until(lambda: _answers(port))
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(port: int) -> bool:
    return any(
        connection.laddr.port == port and connection.status == psutil.CONN_LISTEN
        for connection in psutil.net_connections("tcp")
    )


def _memory(parent: int) -> float:
    """Return the proportional set size of all the server's processes, in MiB."""
    root = psutil.Process(parent)
    sizes = [one.memory_full_info().pss for one in (root, *root.children(recursive=True))]
    return sum(sizes) / 2**20


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
