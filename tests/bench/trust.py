"""The cost of receipts, sign-off and the guard for requests of bots, inside one process.

    python -m tests.bench.trust [--tickets N] [--pairs N] [--only NAME] [--postgresql]

Requests are sent alternately with and without them, each on its own ticket, so that other load
affects both. The results are processor microseconds, including PostgreSQL's, with and without, at
the middle of the faster half, and their quotient. ``unread`` are changes by a bot that has not read
the ticket.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from flask import Flask
from sqlalchemy import text

from app import create_app
from app.accounts import read_notes
from app.audit import receipts
from app.config import Settings
from app.database.session import is_postgresql, reading, session
from app.search import index
from app.tickets import runaways, sign_off
from tests.bench.data import SECRET, database, filled
from tests.bench.filling import KEY, World
from tests.bench.inside import ask
from tests.bench.operations import API, call
from tests.bench.texts import Writer
from tests.bench.wrk import Request

WARM = 20
# Pairs after which pending notes are stored, as a server does each second.
STORE_EVERY = 100


def main() -> None:
    """Print both times of each operation."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.trust", description=__doc__)
    parser.add_argument("--tickets", type=int, default=3_000, help="(3000)")
    parser.add_argument("--pairs", type=int, default=600, help="of requests (600)")
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    parser.add_argument("--postgresql", action="store_true", help="not on SQLite")
    asked = parser.parse_args()
    with ExitStack() as at_end:
        made = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="docket-bench-")))
        kind = "postgresql" if asked.postgresql else "sqlite"
        place = at_end.enter_context(database(kind, made))
        world = filled(place, asked.tickets)
        # Log lines are written, as in a server, but not shown.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end
        app = create_app(
            Settings(
                instance_dir=made,
                database_url=place.url,
                secret_key=SECRET,
                base_url="http://localhost",
            )
        )
        for name, (before, request) in operations(world).items():
            if asked.only in name:
                on, off = _compare(app, world.tickets, before, request, asked.pairs)
                print(f"{name:20}{on:8.0f}{off:8.0f} us {on / off:8.3f}", flush=True)


Asked = Callable[[int], Request]


def operations(world: World) -> dict[str, tuple[Asked | None, Asked]]:
    """By name: the bot's read of a numbered ticket, if any, and the measured request after it."""
    writer, states = Writer(seed=11), itertools.cycle((*world.states[:2], world.states[-1]))
    sent = {"X-API-Key": world.token, "Content-Type": "application/json"}
    endpoint = f"/mcp/bot/{world.token}/mcp"

    def rest(method: str, path: str, **body: object) -> Request:
        return Request(f"{API}{path}", method, sent, json.dumps(body) if body else "")

    def get(number: int) -> Request:
        return rest("GET", f"/tickets/{KEY}-{number}")

    def update(number: int) -> Request:
        return rest("PATCH", f"/tickets/{KEY}-{number}", title=writer.title())

    def move(number: int) -> Request:
        return rest("POST", f"/tickets/{KEY}-{number}/transition", state_id=next(states))

    def comment(number: int) -> Request:
        return rest("POST", f"/tickets/{KEY}-{number}/comments", body=writer.body(40))

    def create(_: int) -> Request:
        path = f"/projects/{world.project_id}/tickets"
        return rest("POST", path, type="story", title=writer.title(), body=writer.body())

    def get_by_tool(number: int) -> Request:
        return call(endpoint, "get_ticket", {"ticket": f"{KEY}-{number}"})

    def update_by_tool(number: int) -> Request:
        given: dict[str, object] = {"ticket": f"{KEY}-{number}", "title": writer.title()}
        return call(endpoint, "update_ticket", given)

    def create_by_tool(_: int) -> Request:
        given: dict[str, object] = {"project": KEY, "title": writer.title(), "body": writer.body()}
        return call(endpoint, "create_ticket", given)

    return {
        "get": (None, get),
        "create": (None, create),
        "update": (get, update),
        "update, unread": (None, update),
        "move": (get, move),
        "comment": (get, comment),
        "MCP get_ticket": (None, get_by_tool),
        "MCP create_ticket": (None, create_by_tool),
        "MCP update_ticket": (get_by_tool, update_by_tool),
    }


def _compare(
    app: Flask, tickets: int, before: Asked | None, request: Asked, pairs: int
) -> tuple[float, float]:
    """Return the microseconds of a request, with and without."""
    taken: tuple[list[int], list[int]] = ([], [])
    numbers = itertools.cycle(range(1, tickets + 1))
    backends: list[Path] = []
    for pair in range(pairs + WARM):
        if pair == WARM:
            backends = _backends(app)
        for which in (0, 1) if pair % 2 else (1, 0):
            number = next(numbers)
            with _without() if which else ExitStack():
                if before is not None:
                    ask(app, before(number))
                asked = request(number)
                theirs, ours = _spent(backends), time.process_time_ns()
                status = ask(app, asked)
                ours = time.process_time_ns() - ours
            assert status.startswith("2"), status
            if pair >= WARM:
                taken[which].append(ours + _spent(backends) - theirs)
        if pair % STORE_EVERY == 0:
            with app.app_context():
                read_notes.store_notes()
                index.flush(own=True)
    on, off = (statistics.median(sorted(times)[: pairs // 2]) / 1_000 for times in taken)
    return on, off


def _backends(app: Flask) -> list[Path]:
    """Return the kernel's files with the run time of this application's PostgreSQL processes."""
    with app.app_context(), reading():
        if not is_postgresql():
            return []
        mine = text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return [Path(f"/proc/{pid}/schedstat") for pid in session.scalars(mine)]


def _spent(backends: list[Path]) -> int:
    return sum(int(path.read_text().split()[0]) for path in backends)


@contextmanager
def _without() -> Iterator[None]:
    """Record nothing about what bots do during the with-block."""
    with ExitStack() as at_end:
        for module, names in (
            (receipts, ("begin", "begin_in", "of")),
            (read_notes, ("note",)),
            (sign_off, ("check_done",)),
            (runaways, ("count_creation",)),
        ):
            for name in names:
                at_end.enter_context(mock.patch.object(module, name, _nothing))
        yield


def _nothing(*_: object, **__: object) -> None:
    return None


if __name__ == "__main__":
    main()
