"""A server dies at a named point of a delivery: nothing is lost, every attempt is recorded.

The processes kill themselves with SIGKILL (tests/support/crashing.py), so the points are exact.
"""

import http.client
import os
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress

import pytest

from tests.server.test_deliveries import (
    create,
    deliveries,
    furnish,
    receiver,
    settings_of,
    titles,
)
from tests.support.forking import FORKED_CRASHING
from tests.support.postgres import unused_name
from tests.support.serving import end, start, until
from tests.support.workspace import Owner

__all__ = ["receiver"]

LEASE_MS = 4_000
# Named in tests/support/crashing.py; importing it would build the application here.
POINTS = ("after commit", "after claim", "after send", "before record")


def owed(owner, hook, receiver):
    """Return the rows if each attempt that reached the receiver has one and the event arrived."""
    rows = deliveries(owner, hook)
    known = {row["id"] for row in rows}
    reached = {one.headers["X-Webhook-Delivery"] for one in receiver.received}
    return reached <= known and any(row["status"] == "succeeded" for row in rows) and rows


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_loses_nothing(migrated_url, tmp_path, receiver, point):
    """The worker process dies once; the server replaces it, and the new one continues."""
    mark = tmp_path / "crash"
    settings = settings_of(receiver, migrated_url) | {
        "CRASH_AT": point,
        "CRASH_FILE": mark,
        "LEASE_MS": LEASE_MS,
    }
    served = start(tmp_path / "instance", command=FORKED_CRASHING, **settings)
    try:
        owner, project, hook = furnish(served, receiver)
        (worker,) = served.workers()
        mark.touch()
        with suppress(OSError, http.client.HTTPException):
            # The response may be lost with the process; the change is committed.
            create(owner, project, "told")
        until(lambda: not mark.exists())
        until(lambda: served.workers() not in ([], [worker]))
        rows = until(lambda: _asked(owner, hook, receiver), seconds=30)
        reached = Counter(one.headers["X-Webhook-Delivery"] for one in receiver.received)
        assert set(reached.values()) == {1}
        assert [row["status"] for row in rows[1:]] == ["retrying"] * (len(rows) - 1)
        # Attempts that reached the receiver before the crash are repeated and marked interrupted.
        twice = point in ("after send", "before record")
        assert len(receiver.received) == (2 if twice else 1)
        assert len(rows) == (1 if point == "after commit" else 2)
        interrupted = [row for row in rows if (row["error_message"] or "").startswith("interr")]
        assert len(interrupted) == len(rows) - 1
        assert [row["attempt"] for row in rows] == list(range(len(rows), 0, -1))
    finally:
        end(served)


def _asked(owner, hook, receiver):
    """Return ``owed`` of a server that may be restarting; None if it does not respond."""
    with suppress(OSError, http.client.HTTPException, AssertionError):
        return owed(owner, hook, receiver)
    return None


def test_the_work_of_a_killed_process_goes_to_the_other(cluster, template, tmp_path, receiver):
    """Within two leases, which last four seconds here."""
    name = unused_name()
    url = cluster.create_database(name, template)
    held, over = [], threading.Event()

    def stall(came):
        held.append(came)
        if len(held) == 1:
            over.wait(60)
        return 200

    receiver.answer = stall
    with ExitStack() as stack:
        stack.callback(over.set)
        stack.callback(cluster.drop_database, name)
        settings = settings_of(receiver, url) | {"LEASE_MS": LEASE_MS}
        first = start(tmp_path / "first", command=FORKED_CRASHING, **settings)
        stack.callback(end, first)
        owner, project, hook = furnish(first, receiver)
        create(owner, project, "told")
        receiver.wait_for(1)
        second = start(tmp_path / "second", command=FORKED_CRASHING, **settings)
        stack.callback(end, second)
        # Queued behind the one in progress: a webhook has one delivery at a time.
        other = Owner(second, owner.cookie)
        create(other, project, "waiting")
        killed = time.monotonic()
        for process in (*first.workers(), first.process.pid):
            os.kill(process, signal.SIGKILL)
        first.process.wait()
        receiver.wait_for(3, seconds=20)
        assert time.monotonic() - killed < 2 * LEASE_MS / 1000
        assert titles(receiver) == {"told": 2, "waiting": 1}
        rows = until(lambda: len(found := deliveries(other, hook)) == 3 and found)
        assert sorted(row["status"] for row in rows) == ["retrying", "succeeded", "succeeded"]
