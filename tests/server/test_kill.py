"""``kill -9`` under load: what was acknowledged is there with its event, and nothing half done.

KILLS=1000 runs the loop longer; the default keeps it within a test run.
"""

import http.client
import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from tests.support.serving import Served, start

CALLERS = 8
KILLS = int(os.environ.get("KILLS", "12"))
PASSWORD = "correct horse battery"


@dataclass
class Ledger:
    """What the server acknowledged, as its clients remember it."""

    tickets: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    attempts: int = 0


def kill(served: Served) -> None:
    """Kill the server and its workers in one blow."""
    with suppress(psutil.NoSuchProcess):
        workers = served.workers()
        os.killpg(served.process.pid, signal.SIGKILL)
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
    served.process.wait()


def set_up(served: Served) -> tuple[str, str, list[str]]:
    """A bot's token, a project and its states."""
    admin = {"username": "ada", "password": PASSWORD}
    made = served.request("POST", "/api/v1/setup/admin", admin)
    cookie = made.headers["Set-Cookie"].partition(";")[0]
    bot = {"username": "bot-load-1", "mode": "write"}
    token = served.request("POST", "/api/v1/bots", bot, Cookie=cookie).json["plaintext_token"]
    body = {"key": "LOAD", "name": "Load"}
    project = served.request("POST", "/api/v1/projects", body, Cookie=cookie).json["id"]
    path = f"/api/v1/projects/{project}/workflow-states"
    states = served.request("GET", path, X_API_Key=token).json["data"]
    return token, project, [state["id"] for state in states]


def work(
    served: Served, token: str, project: str, states: list[str], ledger: Ledger, over: Event
) -> None:
    """Create, comment and move until the server is gone."""
    with suppress(OSError, http.client.HTTPException):
        while not over.is_set():
            ledger.attempts += 1
            made = served.request(
                "POST", f"/api/v1/projects/{project}/tickets", {"title": "x"}, X_API_Key=token
            )
            assert made.status == 201, made.body
            ticket = made.json["id"]
            ledger.tickets.append(ticket)
            said = served.request(
                "POST", f"/api/v1/tickets/{ticket}/comments", {"body": "y"}, X_API_Key=token
            )
            assert said.status == 201, said.body
            ledger.comments.append(said.json["id"])
            body = {"state_id": states[-1], "comment": "done"}
            moved = served.request(
                "POST", f"/api/v1/tickets/{ticket}/transition", body, X_API_Key=token
            )
            assert moved.status == 200, moved.body
            ledger.moves.append(ticket)


def check(engine: sa.Engine, ledger: Ledger, done: str) -> None:
    """Hold the database against the ledger, and changes against events."""

    def rows(connection: sa.Connection, statement: str) -> list[Any]:
        return [str(value) for (value,) in connection.execute(sa.text(statement))]

    with engine.connect() as connection:
        tickets = rows(connection, "SELECT id FROM tickets")
        numbers = connection.execute(sa.text("SELECT ticket_number FROM tickets ORDER BY 1")).all()
        counter = connection.execute(sa.text("SELECT ticket_counter FROM projects")).scalar()
        comments = rows(connection, "SELECT id FROM comments")
        moved = rows(connection, f"SELECT id FROM tickets WHERE state_id = '{done}'")
        created = rows(
            connection, "SELECT ticket_id FROM audit_events WHERE event_type = 'ticket.created'"
        )
        transitions = rows(
            connection,
            "SELECT ticket_id FROM audit_events WHERE event_type = 'ticket.state_changed'",
        )
        remarks = connection.execute(
            sa.text("SELECT payload FROM audit_events WHERE event_type = 'comment.created'")
        ).all()
    assert set(ledger.tickets) <= set(tickets)
    assert set(ledger.comments) <= set(comments)
    assert set(ledger.moves) <= set(moved)
    assert len(tickets) <= ledger.attempts
    assert [number for (number,) in numbers] == list(range(1, len(tickets) + 1))
    assert counter == len(tickets)
    assert Counter(created) == Counter(tickets)
    assert Counter(transitions) == Counter(moved)
    assert len(remarks) == len(comments)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings: dict[str, Any] = {"LOG_LEVEL": "WARNING"}
    url = f"sqlite:///{tmp_path / 'instance' / 'docket.db'}"
    if kind == "postgresql":
        cluster = request.getfixturevalue("cluster")
        url = cluster.create_database("killed")
        settings |= {"DATABASE_URL": url, "SECRET_KEY": "k" * 32}
    chance = random.Random(20261120)
    served = start(tmp_path / "instance", **settings)
    token, project, states = set_up(served)
    ledger = Ledger()
    engine = sa.create_engine(url)
    for _ in range(KILLS):
        over = Event()
        with ThreadPoolExecutor(CALLERS) as pool:
            running = [
                pool.submit(work, served, token, project, states, ledger, over)
                for _ in range(CALLERS)
            ]
            time.sleep(chance.uniform(0.05, 0.6))
            kill(served)
            over.set()
            for worker in running:
                worker.result()
        served = start(tmp_path / "instance", **settings)
        check(engine, ledger, states[-1])
    if kind == "sqlite":
        with engine.connect() as connection:
            assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
    engine.dispose()
    assert len(ledger.moves) > KILLS
    assert served.stop() == 0
