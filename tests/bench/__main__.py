"""Start a server as `make run` does, fill it over REST, and measure it beside its own /healthz.

The clients run on the same machine and in Python, so they take a share of what they measure:
compare figures of one machine with each other, and the REST rows with the /healthz row.
"""

import argparse
import json
import re
import tempfile
from pathlib import Path

from tests.bench.driver import Figures, Target, keep_busy
from tests.support.serving import Served, serving

API = "/api/v1"
ADMIN = {"username": "ada", "password": "correct horse battery"}
TICKET = {"type": "story", "title": "Measure it", "body": "One sentence of text. " * 20}
ROW = "{:<22}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}"


def main() -> None:
    """Print one row for each kind of request and number of clients."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--tickets", type=int, default=1000, help="tickets in the project (1000)")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each row (3)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="(1 8 64)")
    parser.add_argument("--database-url", help="a PostgreSQL database to use up (default: SQLite)")
    asked = parser.parse_args()
    settings = {"LOG_LEVEL": "WARNING"}
    if asked.database_url:
        settings |= {"DATABASE_URL": asked.database_url, "SECRET_KEY": "for one benchmark only"}
    with (
        tempfile.TemporaryDirectory(prefix="docket-bench-") as directory,
        serving(Path(directory) / "instance", **settings) as served,
    ):
        key, project_id = _furnish(served, asked.tickets)
        headers = {"X-API-Key": key, "Content-Type": "application/json"}
        print(ROW.format("", "clients", "req/s", "p50 ms", "p99 ms", "worst ms", "failures"))
        for clients in asked.clients:
            for target in _targets(project_id):
                figures = keep_busy(served.port, target, headers, clients, asked.seconds)
                print(_row(target.name, clients, figures), flush=True)


def _furnish(served: Served, tickets: int) -> tuple[str, str]:
    """Set the server up with a write bot and a project of so many tickets; the key, the project."""
    setup = served.request("POST", f"{API}/setup/admin", ADMIN)
    cookie = setup.headers["Set-Cookie"].partition(";")[0]
    bot = {"username": "bench", "display_name": "Bench", "mode": "write"}
    made = served.request("POST", f"{API}/bots", bot, Cookie=cookie)
    token = re.search(rb"app_[a-z2-7]{32}", made.body)
    assert token is not None, made.body
    project = served.request(
        "POST", f"{API}/projects", {"key": "BENCH", "name": "Bench"}, Cookie=cookie
    )
    project_id = str(project.json["id"])
    for _ in range(tickets):
        answer = served.request(
            "POST", f"{API}/projects/{project_id}/tickets", TICKET, X_API_Key=token[0].decode()
        )
        assert answer.status == 201, answer.body
    return token[0].decode(), project_id


def _targets(project_id: str) -> list[Target]:
    tickets = f"{API}/projects/{project_id}/tickets"
    return [
        Target("/healthz", "GET", "/healthz"),
        Target("get a ticket", "GET", f"{API}/tickets/BENCH-1"),
        Target("list 50 tickets", "GET", f"{tickets}?limit=50"),
        Target("create a ticket", "POST", tickets, json.dumps(TICKET).encode()),
    ]


def _row(name: str, clients: int, figures: Figures) -> str:
    return ROW.format(
        name,
        clients,
        f"{figures.per_second:.0f}",
        f"{figures.p50:.2f}",
        f"{figures.p99:.2f}",
        f"{figures.worst:.1f}",
        figures.failures,
    )


if __name__ == "__main__":
    main()
