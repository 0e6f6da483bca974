"""Receipts and the guard against runaway bots, with two workers that share the requests."""

import http.client
from contextlib import ExitStack, closing

import orjson
import psutil
import pytest

from app.tickets.runaways import LEFT_DIVISOR
from tests.support.forking import FORKED
from tests.support.serving import serving, until
from tests.support.workspace import owner_of

KEY = "a secret key of the tests, long enough"
LIMIT = 40
# How far a bot can exceed it: the last creation, and what each process counts locally.
SLACK = 1 + 2 * (LIMIT // LEFT_DIVISOR)


@pytest.fixture
def served(migrated_url, tmp_path):
    given = {"DATABASE_URL": migrated_url, "SECRET_KEY": KEY, "WORKERS": 2, "THREADS": 1}
    with serving(tmp_path / "instance", command=FORKED, **given) as made:
        yield made


class Line:
    """A bot's connection, which one worker serves as long as it is open."""

    def __init__(self, served, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
        self.connection.connect()
        self.token = token

    def close(self):
        self.connection.close()

    def ask(self, method, path, body=None):
        headers = {"X-API-Key": self.token, "Content-Type": "application/json"}
        self.connection.request(
            method, f"/api/v1{path}", None if body is None else orjson.dumps(body), headers
        )
        answer = self.connection.getresponse()
        return answer.status, orjson.loads(answer.read()), answer.headers["X-Request-Id"]


def lines_to_all(served, token, held):
    """Return a connection to each worker, by the process at the other end of its socket."""
    found = {}

    def is_complete():
        line = held.enter_context(closing(Line(served, token)))
        assert line.ask("GET", "/auth/me")[0] == 200
        port = line.connection.sock.getsockname()[1]
        for worker in served.workers():
            for one in psutil.Process(worker).net_connections("tcp"):
                if one.raddr and one.raddr.port == port:
                    found[worker] = line
        return len(found) == 2

    until(is_complete)
    return list(found.values())


def test_two_workers_know_what_a_bot_read_and_stop_it(served):
    owner = owner_of(served)
    project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
    owner.call("PATCH", f"/projects/{project}", {"bot_creation_limit": 0})
    tickets = [
        owner.call("POST", f"/projects/{project}/tickets", {"title": f"Ticket {number}"})["id"]
        for number in range(6)
    ]
    bot = owner.bot("reader")
    with ExitStack() as held:
        lines = lines_to_all(served, bot.token, held)
        receipts_are_right(owner, lines, tickets)
        limit_holds(owner, bot, project, lines)


def receipts_are_right(owner, lines, tickets):
    """Read each ticket through one worker, or not at all, and change it through the other."""
    expected = {}
    for number, ticket in enumerate(tickets):
        reading, changing = lines[number % 2], lines[1 - number % 2]
        is_read = number < 4
        if is_read:
            assert reading.ask("GET", f"/tickets/{ticket}")[0] == 200
        status, _, request_id = changing.ask("PATCH", f"/tickets/{ticket}", {"priority": "high"})
        assert status == 200
        expected[request_id] = "read" if is_read else "not_read"

    of_request = {
        key: owner.call("GET", f"/audit?request_id={key}")["data"][0]["id"] for key in expected
    }

    def statuses():
        return {
            key: owner.call("GET", f"/audit/{event_id}")["receipt"]["ticket"]["status"]
            for key, event_id in of_request.items()
        }

    found = statuses()
    # Right after the change a status may be unknown, but never wrong.
    assert all(found[key] in ("unknown", status) for key, status in expected.items()), found
    until(lambda: statuses() == expected, 10)


def limit_holds(owner, bot, project, lines):
    """The bot creates over both connections until it is stopped: near the limit, and on both."""
    owner.call("PATCH", f"/projects/{project}", {"bot_creation_limit": LIMIT})
    made = 0
    while made <= LIMIT + SLACK:
        path = f"/projects/{project}/tickets"
        status, answer, _ = lines[made % 2].ask("POST", path, {"title": f"New {made}"})
        if status != 201:
            break
        made += 1
    assert status == 403, made
    assert answer["error"]["code"] == "auth.read_only_bot"
    assert LIMIT < made <= LIMIT + SLACK
    for line in lines:
        assert line.ask("POST", f"/projects/{project}/tickets", {"title": "More"})[0] == 403
        assert line.ask("GET", f"/projects/{project}/tickets")[0] == 200
    (event,) = owner.call("GET", "/audit?event_type=bot.paused")["data"]
    assert (event["actor_kind"], event["target_id"]) == ("system", bot.id)
