"""Faults of processes, connections, clocks and clients, applied to a stage under load.

Allowed effects are stated where they are judged: lost connections, and 503 ``server.unavailable``.
Everything else is a failure. The ledger's checker runs after each (``scenarios.py``).
"""

import os
import random
import signal
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any

import sqlalchemy as sa

from tests.torture.ledger import Broken
from tests.torture.load import load
from tests.torture.proxy import Fault
from tests.torture.stage import Stage, make_clock, step_clock, until_ready

Figures = dict[str, Any]


def expect(condition: Any, what: str) -> None:
    """Raise Broken unless the condition holds."""
    if not condition:
        raise Broken(what)


def is_killed(code: int) -> bool:
    """Return whether a command was ended by SIGKILL; raises Broken if it failed otherwise."""
    expect(code in {0, -signal.SIGKILL}, f"a command that was to be killed ended with {code}")
    return code != 0


def kills(stage: Stage, count: int, seconds: float = 1e9) -> Figures:
    """SIGKILL the server under load, ``count`` times or for ``seconds``.

    Every third kill hits while the receiver holds a request: sent, but not yet recorded.
    """
    chance = random.Random(20261121)
    done, began = 0, time.monotonic()
    doomed = threading.Event()

    def answer(_: object) -> int:
        if doomed.is_set():
            doomed.clear()
            stage.kill()
        return 200

    stage.receiver.answer = answer
    while done < count and time.monotonic() - began < seconds:
        assert stage.site is not None
        with load(stage.site, stage.ledger):
            time.sleep(chance.uniform(0.05, 0.6))
            if done % 3 == 2:
                doomed.set()
                time.sleep(0.3)
                doomed.clear()
            stage.kill()
        done += 1
        stage.start()
        if done % 10 == 0:
            stage.check(deliveries=False)
    return {"SIGKILLs": done}


def _kill_as_it_delivers(stage: Stage) -> None:
    """SIGKILL the server while the receiver holds a request: sent, but not yet recorded."""
    killed = threading.Event()

    def answer(_: object) -> int:
        stage.receiver.answer = 200
        stage.kill()
        killed.set()
        return 200

    stage.receiver.answer = answer
    expect(killed.wait(30), "nothing was delivered")


def backends(stage: Stage, count: int, seconds: float = 1e9) -> Figures:
    """SIGKILL PostgreSQL's processes one at a time; PostgreSQL recovers, and so does the server."""
    done, began = 0, time.monotonic()
    asked = sa.text("SELECT pid FROM pg_stat_activity WHERE application_name = 'docket'")
    assert stage.site is not None
    while done < count and time.monotonic() - began < seconds:
        with load(stage.site, stage.ledger):
            time.sleep(random.uniform(0.05, 0.4))
            with suppress(sa.exc.DBAPIError), stage.engine.connect() as connection:
                found = [pid for (pid,) in connection.execute(asked)]
                if found:
                    os.kill(random.choice(found), signal.SIGKILL)
                    done += 1
            time.sleep(0.3)
        until_ready(stage)
    return {"backends killed": done}


def restart(stage: Stage, seconds: float) -> Figures:
    """Stop PostgreSQL for a while: only 503s, the server stays alive and recovers by itself."""
    assert stage.cluster is not None
    assert stage.site is not None
    before = stage.ledger.answers.copy()
    with load(stage.site, stage.ledger):
        time.sleep(0.5)
        stage.cluster.halt("fast")
        stopped = time.monotonic()
        health, ready = set(), set()
        while time.monotonic() - stopped < seconds:
            health.add(stage.status("/healthz"))
            ready.add(stage.status("/readyz"))
            time.sleep(0.1)
        stage.cluster.resume()
        back = until_ready(stage)
    expect(health == {200}, f"/healthz said {health} while the database was down")
    expect(ready == {503}, f"/readyz said {ready} while the database was down")
    expect(back <= 5, f"ready only {back:.1f} s after the database came back")
    refused = (stage.ledger.answers - before)[503]
    return {"stopped s": seconds, "answers 503": refused, "ready after s": round(back, 2)}


def database_link(stage: Stage, seconds: float) -> Figures:
    """Apply each fault to the connection to PostgreSQL, for so many seconds."""
    return _link(stage, seconds, database=True)


def receiver_link(stage: Stage, seconds: float) -> Figures:
    """Apply each fault to the connection to the webhook receiver, for so many seconds."""
    return _link(stage, seconds, database=False)


def _link(stage: Stage, seconds: float, *, database: bool) -> Figures:
    proxy = stage.to_database if database else stage.to_receiver
    assert proxy is not None
    assert stage.site is not None
    figures: Figures = {}
    for fault in Fault:
        if fault is Fault.NONE:
            continue
        with load(stage.site, stage.ledger, 4):
            proxy.fault = fault
            if not database or fault not in (Fault.DELAY, Fault.SLICE):
                # Pooled connections meet the fault as well.
                time.sleep(seconds / 2)
                if fault is Fault.REFUSE:
                    proxy.cut()
            until_over = time.monotonic() + seconds
            while time.monotonic() < until_over:
                expect(stage.status("/healthz", 5) == 200, f"/healthz is not 200 under {fault}")
                time.sleep(0.1)
            proxy.fault = Fault.NONE
            proxy.cut()
            figures[str(fault)] = round(until_ready(stage), 2)
    return figures


def clock_steps(stage: Stage) -> Figures:
    """Step the wall clock back and forth under a live process."""
    assert stage.site is not None
    stage.stop()
    clock = make_clock(stage.directory)
    stage.start(**clock)
    # Within the validity of the receiver's certificate; the last step goes twelve hours back.
    steps = (-3500, 3600, 43_200, 0)
    for step in steps:
        with load(stage.site, stage.ledger, 4):
            time.sleep(0.4)
            step_clock(stage.directory, step)
            time.sleep(0.8)
        stage.check()
    stage.stop()
    stage.start()
    return {"steps": len(steps)}


def database_clock_steps(stage: Stage) -> Figures:
    """Step the clock of PostgreSQL's host back and forth; leases are based on it."""
    cluster = stage.cluster
    assert cluster is not None
    assert cluster.directory is not None
    assert stage.site is not None
    cluster.environment.update(make_clock(cluster.directory))
    cluster.halt()
    cluster.resume()
    until_ready(stage)
    steps = (43_200, -43_200, 3600, 0)
    for step in steps:
        with load(stage.site, stage.ledger, 4):
            time.sleep(0.4)
            _kill_as_it_delivers(stage)
        # Deliveries in progress have a lease based on the clock before the step.
        step_clock(cluster.directory, step)
        with stage.engine.connect() as connection:
            now = connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())"))
        expect(abs(float(now) - time.time() - step) < 60, f"its clock did not step by {step} s")
        stage.start()
        with load(stage.site, stage.ledger, 4):
            time.sleep(0.4)
        stage.check()
    cluster.environment.clear()
    cluster.halt()
    cluster.resume()
    until_ready(stage)
    return {"steps": len(steps)}


def slow_clients(stage: Stage, count: int = 500) -> Figures:
    """Clients send half a request and stall: nobody else waits for them."""
    assert stage.served is not None
    assert stage.site is not None
    half = b"POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    took = []
    with ExitStack() as held:
        for _ in range(count):
            held.enter_context(closing(stage.served.connect(half)))
        for _ in range(100):
            began = time.monotonic()
            expect(stage.status("/healthz") == 200, "/healthz is not 200")
            took.append((time.monotonic() - began) * 1000)
        with load(stage.site, stage.ledger, 4):
            time.sleep(1)
    p99 = statistics.quantiles(took, n=100)[98]
    expect(p99 < 100, f"/healthz p99 was {p99:.0f} ms")
    return {"stalled": count, "healthz p99 ms": round(p99, 1)}


def claims(stage: Stage, rounds: int) -> Figures:
    """Many bots claim one ticket at once: exactly one gets it."""
    assert stage.site is not None
    site, ledger = stage.site, stage.ledger
    for _ in range(rounds):
        title = ledger.title()
        made = site.ask("POST", f"/projects/{site.project}/tickets", {"title": title})
        ticket = made.json["id"]
        ledger.tickets[ticket] = title
        together = threading.Barrier(16)

        def claim(number: int, ticket: str = ticket, together: Any = together) -> tuple[int, str]:
            bot = number % len(site.bots)
            mine = site.bots[bot][0]
            body = {"assignee_user_id": mine, "expected_assignee_user_id": None}
            together.wait()
            return site.ask("PATCH", f"/tickets/{ticket}", body, bot).status, mine

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(claim, range(16)))
        won = [mine for status, mine in answers if status == 200]
        expect(len(won) == 1, f"{len(won)} of 16 claims won: {answers}")
        ledger.claims.append((ticket, won[0]))
    return {"races of 16": rounds}
