"""Several processes act as one Docket: balanced servers on PostgreSQL, workers on SQLite."""

import re
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from app.jobs.sweeping import SWEEPERS
from tests.support.balancer import balancing
from tests.support.forking import FORKED_CRASHING
from tests.support.postgres import unused_name
from tests.support.receiver import SECRET, receiving
from tests.support.serving import Served, end, start, until
from tests.support.workspace import SETUP, owner_of

SERVERS = 4
TICKETS = 40
KEY = "a secret key of the tests, long enough"


@pytest.fixture
def receiver(tmp_path):
    with receiving(tmp_path) as made:
        yield made


@pytest.fixture
def settings(receiver):
    return {
        "SECRET_KEY": KEY,
        "THREADS": 2,
        "FIRST_SWEEP_SECONDS": 5,
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_CA_BUNDLE": receiver.ca_file,
    }


@pytest.fixture
def servers(cluster, tmp_path, settings):
    """Start four servers at once on an empty database."""
    name = unused_name()
    settings |= {"DATABASE_URL": cluster.create_database(name)}
    with ExitStack() as held, ThreadPoolExecutor(SERVERS) as starting:
        held.callback(cluster.drop_database, name)

        def one(number):
            served = start(tmp_path / f"server-{number}", command=FORKED_CRASHING, **settings)
            held.callback(end, served)
            return served

        yield list(starting.map(one, range(SERVERS)))


def test_four_processes_are_one_docket(servers, receiver):
    with balancing([served.port for served in servers]) as balancer:
        front = Served(servers[0].process, balancer.port, servers[0].log)
        owner, project = is_one_docket(front, receiver)
        assert min(balancer.served.values()) > 10
        # One stops; nobody notices, and the others take over its deliveries.
        assert servers[0].stop(signal.SIGTERM) == 0
        for number in range(SERVERS):
            owner.call("POST", f"/projects/{project}/tickets", {"title": f"After {number}"})
        until(lambda: len(titles(receiver)) == TICKETS + 2 + SERVERS)
        assert set(titles(receiver).values()) == {1}


def test_workers_on_one_sqlite_are_one_docket(tmp_path, receiver, settings):
    """The system spreads connections over them, and each request here uses a new one."""
    served = start(tmp_path / "instance", command=FORKED_CRASHING, WORKERS=3, **settings)
    try:
        assert len(served.workers()) == 3
        is_one_docket(served, receiver)
        assert served.stop() == 0
    finally:
        end(served)


def is_one_docket(front, receiver):
    """Check shared state, whichever process responds; return the owner and the project."""
    owner = owner_of(front)
    sessions_are_shared(front, owner)
    project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
    given = {"url": receiver.url, "secret": SECRET, "event_types": ["ticket.created"]}
    hook = owner.call("POST", "/webhooks", given)["id"]
    a_key_creates_once(front, owner, project)
    numbers_have_no_holes(owner, project)
    boards_are_live(front, owner, project)
    bots_stop_everywhere(front, owner, project)
    deliveries_come_once(owner, receiver, hook)
    logins_are_counted_together(front)
    sweeps_run_once(owner)
    return owner, project


def titles(receiver):
    return Counter(one.body["payload"]["title"] for one in list(receiver.received))


def at_once(work, count):
    """Return the results of all calls, made eight at a time."""
    with ThreadPoolExecutor(8) as callers:
        return list(callers.map(work, range(count)))


def sessions_are_shared(front, owner):
    names = at_once(lambda _: owner.call("GET", "/auth/me")["username"], 2 * SERVERS)
    assert set(names) == {"ada"}
    again = front.request("POST", "/api/v1/auth/login", SETUP)
    cookie = again.headers["Set-Cookie"].split(";")[0]
    front.request("POST", "/api/v1/auth/logout", Cookie=cookie)
    ended = at_once(lambda _: front.request("GET", "/api/v1/auth/me", Cookie=cookie).status, 4)
    assert set(ended) == {401}


def a_key_creates_once(front, owner, project):
    def create(_):
        return front.request(
            "POST",
            f"/api/v1/projects/{project}/tickets",
            {"title": "Once"},
            Cookie=owner.cookie,
            Idempotency_Key="once",
        )

    answers = at_once(create, 2 * SERVERS)
    assert {answer.status for answer in answers} == {201}
    assert len({answer.json["id"] for answer in answers}) == 1
    replayed = [answer.headers["Idempotency-Replayed"] for answer in answers]
    assert replayed.count("true") == 2 * SERVERS - 1


def numbers_have_no_holes(owner, project):
    path = f"/projects/{project}/tickets"
    made = at_once(lambda one: owner.call("POST", path, {"title": f"Number {one}"}), TICKETS)
    assert sorted(ticket["ticket_number"] for ticket in made) == list(range(2, TICKETS + 2))


def boards_are_live(front, owner, project):
    """Any server shows what happened on another, with the same token."""

    def ask(path):
        return front.request("GET", path, Cookie=owner.cookie, HX_Request="true")

    def token_in(body):
        return re.search(rb'data-since="([^"]+)"', body).group(1).decode()

    token = token_in(ask("/projects/OPS/board").body)
    first = ask(f"/projects/OPS/board/live?since={token}")
    token = token_in(first.body) if first.status == 200 else token
    owner.call("POST", f"/projects/{project}/tickets", {"title": "Seen by all"})
    seen = at_once(lambda _: ask(f"/projects/OPS/board/live?since={token}").body, SERVERS)
    assert all(b"Seen by all" in body for body in seen)


def bots_stop_everywhere(front, owner, project):
    bot = owner.bot("bot-1")

    def write(token):
        return front.request(
            "POST", f"/api/v1/projects/{project}/labels", {"name": "x"}, X_API_Key=token
        ).status

    def who(token):
        return front.request("GET", "/api/v1/auth/me", X_API_Key=token).status

    assert set(at_once(lambda _: who(bot.token), SERVERS)) == {200}
    rotated = owner.call("POST", f"/bots/{bot.id}/tokens/rotate")["plaintext_token"]
    assert set(at_once(lambda _: who(bot.token), SERVERS)) == {401}
    assert set(at_once(lambda _: who(rotated), SERVERS)) == {200}
    owner.call("PATCH", f"/bots/{bot.id}", {"is_active": False})
    assert set(at_once(lambda _: who(rotated), SERVERS)) == {401}
    assert write(rotated) == 401


def deliveries_come_once(owner, receiver, hook):
    until(lambda: len(titles(receiver)) == TICKETS + 2)
    rows = owner.call("GET", f"/webhooks/{hook}/deliveries?limit=200")["data"]
    assert {row["attempt"] for row in rows} == {1}
    assert all(one.is_signed_with(SECRET) for one in receiver.received)


def logins_are_counted_together(front):
    wrong = {"username": "nobody", "password": "wrong wrong wrong"}
    answers = [front.request("POST", "/api/v1/auth/login", wrong).status for _ in range(6)]
    assert answers == [401] * 5 + [429]


def sweeps_run_once(owner):
    def ran():
        rows = owner.call("GET", "/audit?event_type=system.sweeper_ran&limit=200")["data"]
        return Counter(row["payload"]["sweeper"] for row in rows)

    until(lambda: set(ran()) == set(SWEEPERS))
    time.sleep(1)
    assert set(ran().values()) == {1}
