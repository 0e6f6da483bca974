"""Deliveries by the real server: with a black hole, and from two processes at once.

EVENTS=1000 runs the black hole longer; the default keeps the test short. tests/torture covers
kills.
"""

import os
import signal
import socket
import statistics
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing

import pytest

from tests.support.forking import FORKED
from tests.support.receiver import SECRET, receiving
from tests.support.serving import is_healthy, serving, start, until
from tests.support.workspace import Owner, owner_of

EVENTS = int(os.environ.get("EVENTS", "10"))
KEY = "a secret key of the tests, long enough"


@pytest.fixture
def receiver(tmp_path):
    with receiving(tmp_path) as made:
        yield made


def settings_of(receiver, url):
    return {
        "DATABASE_URL": url,
        "SECRET_KEY": KEY,
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_CA_BUNDLE": str(receiver.ca_file),
    }


def furnish(served, receiver):
    """Create a project and a webhook; return the owner and the project's id."""
    owner = owner_of(served)
    project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
    hook = subscribe(owner, receiver.url)
    return owner, project, hook


def subscribe(owner, url):
    given = {"url": url, "secret": SECRET, "event_types": ["ticket.created"]}
    return owner.call("POST", "/webhooks", given)["id"]


def create(owner, project, title):
    owner.call("POST", f"/projects/{project}/tickets", {"title": title})


def deliveries(owner, hook, query=""):
    rows, cursor = [], ""
    while True:
        page = owner.call("GET", f"/webhooks/{hook}/deliveries?limit=200{query}{cursor}")
        rows += page["data"]
        if not page["page"]["has_more"]:
            return rows
        cursor = f"&cursor={page['page']['next_cursor']}"


def titles(receiver):
    return Counter(one.body["payload"]["title"] for one in receiver.received)


@pytest.mark.quiet
def test_a_black_hole_keeps_nobody_waiting(migrated_url, tmp_path, receiver):
    """Nine fast receivers, and one that accepts the connection and never responds."""
    with ExitStack() as held:
        hole = held.enter_context(closing(socket.create_server(("127.0.0.1", 0), backlog=100)))
        served = held.enter_context(
            serving(tmp_path / "instance", command=FORKED, **settings_of(receiver, migrated_url))
        )
        owner, project, _ = furnish(served, receiver)
        for _ in range(8):
            subscribe(owner, receiver.url)
        subscribe(owner, f"https://localhost:{hole.getsockname()[1]}/")
        committed = {}
        for number in range(EVENTS):
            began = time.time()
            create(owner, project, f"{number}")
            assert time.time() - began < 2
            committed[f"{number}"] = time.time()
            receiver.wait_for(9 * (number + 1))
        late = [one.at - committed[one.body["payload"]["title"]] for one in receiver.received]
        # The machine runs everything here: server, ten receivers and the test.
        print(f"median {statistics.median(late) * 1000:.0f} ms")
        assert statistics.median(late) < 0.5
        assert all(count == 9 for count in titles(receiver).values())


def test_a_stop_in_good_order_finishes_what_is_under_way(migrated_url, tmp_path, receiver):
    stopping = threading.Event()

    def when_it_stops(_):
        stopping.wait(20)
        return 200

    receiver.answer = when_it_stops
    settings = settings_of(receiver, migrated_url)
    served = start(tmp_path / "instance", command=FORKED, **settings)
    owner, project, hook = furnish(served, receiver)
    create(owner, project, "one")
    receiver.wait_for(1)
    served.process.send_signal(signal.SIGTERM)
    until(lambda: not is_healthy(served))
    stopping.set()
    assert served.process.wait(timeout=20) == 0
    with serving(tmp_path / "instance", command=FORKED, **settings) as again:
        owner = Owner(again, owner.cookie)
        (row,) = until(lambda: deliveries(owner, hook))
        assert row["status"] == "succeeded"
        # The next event shows that nothing is sent twice.
        create(owner, project, "two")
        receiver.wait_for(2)
        assert titles(receiver) == {"one": 1, "two": 1}
