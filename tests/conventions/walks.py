"""How much code one request runs through: `python -m tests.conventions.walks` prints it.

Counts the files of app that a request enters and the function calls in them. The third request of
each kind counts, on SQLite, so that caches are filled.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.agent import Agent
from tests.support.cast import Cast, make_cast
from tests.support.databases import sqlite_database

ROOT = Path(__file__).resolve().parents[2]
APP = f"{ROOT / 'app'}/"
REQUESTS = 3


@dataclass(frozen=True)
class Walk:
    """The files that one request entered, and its number of calls."""

    files: frozenset[str]
    calls: int

    @property
    def core_files(self) -> int:
        """The number of its files in core."""
        return sum(path.startswith("app/core/") for path in self.files)


def walked(act: Callable[[], object]) -> Walk:
    """Measure the walk of ``act`` in this thread."""
    files: set[str] = set()
    calls = 0

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(APP):
            files.add(str(Path(path).relative_to(ROOT)))
            calls += 1

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return Walk(frozenset(files), calls)


def requests(cast: Cast) -> dict[str, Callable[[], object]]:
    """One request of each kind, by name; each raises an error if it is refused."""
    agent = Agent(cast.smith)
    tickets = f"/projects/{cast.open_project}/tickets"
    ticket = {"type": "story", "title": "The printer is on fire", "body": "Smoke on floor two."}
    first = _answered(cast.smith.post(tickets, ticket)).json["display_id"]
    person = {"query_string": {}, "headers": {"Accept-Encoding": "gzip"}}
    return {
        "REST get": lambda: _answered(cast.smith.get(f"/tickets/{first}")),
        "REST list": lambda: _answered(cast.smith.get(f"{tickets}?limit=20")),
        "REST search": lambda: _answered(cast.smith.get("/search?q=printer+fire")),
        "REST create": lambda: _answered(cast.smith.post(tickets, ticket)),
        "MCP create_ticket": lambda: agent.call("create_ticket", project="OPEN", **ticket),
        "MCP get_self": lambda: agent.call("get_self"),
        "ticket page": lambda: _answered(cast.ada.get(f"//tickets/{first}", **person)),
        "board page": lambda: _answered(cast.ada.get("//projects/OPEN/board", **person)),
    }


def _answered(response: Any) -> Any:
    assert response.status_code < 300, (response.status_code, response.text)
    return response


def walks() -> dict[str, Walk]:
    """The walks of the third request of each kind, on a new database."""
    with sqlite_database() as database:
        database.app.test_client_class = None
        asked = requests(make_cast(database.app))
        return {name: [walked(act) for _ in range(REQUESTS)][-1] for name, act in asked.items()}


if __name__ == "__main__":
    print(f"{'request':20}{'files':>8}{'of core':>9}{'calls':>8}")
    for name, walk in walks().items():
        print(f"{name:20}{len(walk.files):8}{walk.core_files:9}{walk.calls:8}")
