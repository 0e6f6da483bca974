"""The cost of a hundred times as many tickets: everything that grows, at two sizes, one client.

    python -m tests.bench.growth [--tickets N] [--database sqlite|postgresql] [--keep DIR]

Lists are requested with each filter and each pair of filters, and far from their start. A line is
marked if the larger data set takes more than ``SLOWER_MEDIAN`` or ``SLOWER_TAIL`` times as long and
the response exceeds ``QUICK_MS``, or if a start or a process exceeds its budget. Each request runs
for a second first, because a running server's caches are warm. A million tickets take long to
create; ``--keep`` keeps them for another run.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import psutil

from app.database.pagination import Cursor, encode
from tests.bench import wrk
from tests.bench.data import SECRET, cookie_of, database, filled
from tests.bench.filling import KEY, World
from tests.bench.operations import API, operations
from tests.bench.texts import EVERYWHERE
from tests.support.serving import Served, serving

SMALL = 10_000
SLOWER_MEDIAN, SLOWER_TAIL = 1.5, 2.0
# Reading a few pages of an index may take twice as long.
QUICK_MS = 5.0
# For the larger data set (PERFORMANCE.md).
START_SECONDS, PROCESS_MIB = 1.5, 150
WARM_SECONDS = 1
ROW = "{:<46}{:>8}{:>8}{:>7}{:>9}{:>8}{:>7}"


@dataclass(frozen=True)
class Size:
    """One data set: request times, seconds to the first response, MiB of each process."""

    figures: dict[str, wrk.Figures]
    start_seconds: float
    process_mib: list[float]


def main() -> None:
    """Print a line for each request; exit 1 if one is marked."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--tickets", type=int, default=1_000_000, help="(1000000)")
    parser.add_argument("--seconds", type=int, default=2, help="for each measurement (2)")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--keep", type=Path, help="where data sets stay, see tests.bench.data")
    asked = parser.parse_args()
    small, large = (_measured(asked, tickets) for tickets in (SMALL, asked.tickets))
    marked = 0
    print(ROW.format("one client, milliseconds", "p50", "then", "x", "p99", "then", "x"))
    for name, before in small.figures.items():
        now = large.figures[name]
        median, tail = now.p50 / before.p50, now.p99 / before.p99
        grew = median > SLOWER_MEDIAN or tail > SLOWER_TAIL
        is_marked = (grew and now.p99 > QUICK_MS) or bool(now.failures)
        marked += is_marked
        cells = (before.p50, now.p50, median, before.p99, now.p99, tail)
        shown = [f"{cell:.2f}" for cell in cells]
        print(ROW.format(name, *shown) + (" <" if is_marked else ""))
    for what, size in ((SMALL, small), (asked.tickets, large)):
        each = ", ".join(f"{one:.0f}" for one in size.process_mib)
        is_marked = size.start_seconds > START_SECONDS or max(size.process_mib) > PROCESS_MIB
        marked += is_marked
        said = f"{what} tickets: ready in {size.start_seconds:.2f} s; MiB a process: {each}"
        print(said + (" <" if is_marked else ""))
    sys.exit(1 if marked else 0)


def _measured(asked: argparse.Namespace, tickets: int) -> Size:
    with tempfile.TemporaryDirectory(prefix="docket-growth-") as made, ExitStack() as stack:
        keep = asked.keep / str(tickets) if asked.keep else None
        place = stack.enter_context(database(asked.database, Path(made), keep))
        world = filled(place, tickets)
        settings = {"DATABASE_URL": place.url, "SECRET_KEY": SECRET, "WORKERS": ""}
        began = time.monotonic()
        with serving(Path(made) / "instance", **settings) as served:
            assert served.request("GET", "/readyz").status == 200
            start_seconds = time.monotonic() - began
            figures = {}
            for name, requests in _requests(served, world).items():
                for seconds in (WARM_SECONDS, asked.seconds):
                    figures[name] = wrk.measure(
                        served.port, requests, connections=1, seconds=seconds
                    )
            processes = [psutil.Process(one) for one in served.workers()]
            sizes = [one.memory_full_info().pss / 2**20 for one in processes]
        return Size(figures, start_seconds, sizes)


def _requests(served: Served, world: World) -> dict[str, list[wrk.Request]]:
    """Return all requests by name; reads first, because writes change the data set."""
    bot = {"X-API-Key": world.token}

    def ticket(number: int) -> dict[str, Any]:
        found = served.request("GET", f"{API}/tickets/{KEY}-{number}", X_API_Key=world.token)
        return dict(found.json)

    def listed(query: str) -> list[wrk.Request]:
        path = f"{API}/projects/{world.project_id}/tickets?limit=50{query}"
        return [wrk.Request(path, headers=bot)]

    filters = {
        "state_id": world.states[0],
        "state_category": "done",
        "ticket_type": "epic",
        "assignee_user_id": world.users[1],
        "reporter_user_id": world.users[0],
        "label_id": world.labels[0],
        "priority": "urgent",
        "parent_ticket_id": ticket(1)["id"],
        "ready": "true",
    }
    asked = {f"list, {name}": listed(f"&{name}={value}") for name, value in filters.items()}
    asked |= {
        f"list, {one} and {other}": listed(f"&{one}={filters[one]}&{other}={filters[other]}")
        for one, other in combinations(filters, 2)
    }
    late = ticket(world.tickets // 10)
    at = round(datetime.fromisoformat(late["created_at"]).timestamp() * 1000)
    behind = encode(Cursor("ticket", late["id"], at))
    asked["list, nine tenths behind"] = listed(f"&cursor={behind}")
    asked["search, a word that all have"] = [
        wrk.Request(f"{API}/search?q={EVERYWHERE}", headers=bot)
    ]
    kinds = sorted(operations(world, cookie_of(served)), key=lambda one: one.writes)
    return {
        **{one.name: one.requests for one in kinds if not one.writes},
        **asked,
        **{one.name: one.requests for one in kinds if one.writes},
    }


if __name__ == "__main__":
    main()
