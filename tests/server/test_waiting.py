"""Bots that wait for news in a running server."""

import select
import signal
import time
from contextlib import ExitStack, closing, contextmanager

import orjson
import psutil
import pytest

from app.serving.waiting import MOST_OF_BOT
from tests.support.forking import FORKED
from tests.support.serving import serving, until
from tests.support.workspace import owner_of

KEY = "a secret key of the tests, long enough"
BOTS = 500


@pytest.fixture
def settings(migrated_url):
    return {"DATABASE_URL": migrated_url, "SECRET_KEY": KEY}


def asked(served, bot, **arguments):
    """A connection on which the bot has called get_self."""
    call = {"name": "get_self", "arguments": arguments}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    head = (
        f"POST /mcp/bot/{bot.token}/mcp HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return served.connect(head.encode() + body)


def answered(connections, seconds):
    """Those of the connections on which there is an answer within this time."""
    poll = select.poll()
    by_number = {one.fileno(): one for one in connections}
    for number in by_number:
        poll.register(number, select.POLLIN)
    found, ends_at = [], time.monotonic() + seconds
    while by_number and (left := ends_at - time.monotonic()) > 0:
        for number, _ in poll.poll(left * 1000):
            poll.unregister(number)
            found.append(by_number.pop(number))
    return found


def result(connection):
    """What an answer says."""
    received = b""
    while not received.partition(b"\r\n\r\n")[2].endswith(b"\n"):
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
    said = orjson.loads(received.partition(b"\r\n\r\n")[2])["result"]
    assert not said["isError"], said
    return said["structuredContent"]


def news(connection):
    """The comments in an answer that waited."""
    answer = result(connection)
    assert "waited" not in answer
    return [row.get("comment") for row in answer.get("news", ())]


class Office:
    """A server with tickets, each assigned to a bot that knows of it."""

    def __init__(self, served):
        self.served, self.owner = served, owner_of(served)
        self.project = self.owner.call("POST", "/projects", {"key": "OPS", "name": "O"})["id"]
        self.bots, self.tickets = [], []

    def bot(self):
        bot = self.owner.bot(f"bot-{len(self.bots)}")
        body = {"title": "Wait", "assignee_user_id": bot.id}
        ticket = self.owner.call("POST", f"/projects/{self.project}/tickets", body)["id"]
        with closing(asked(self.served, bot)) as connection:
            news(connection)
        self.bots.append(bot)
        self.tickets.append(ticket)
        return bot, ticket

    def comment(self, ticket, text="Now"):
        self.owner.call("POST", f"/tickets/{ticket}/comments", {"body": text})


def test_a_comment_wakes_whom_it_concerns(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, THREADS=1, **settings) as served:
        office = Office(served)
        (first, ticket), (second, _) = office.bot(), office.bot()
        with (
            closing(asked(served, first, wait=20)) as one,
            closing(asked(served, second, wait=4)) as other,
        ):
            # With one thread, others work.
            assert office.owner.call("GET", "/auth/me")["username"] == "ada"
            assert answered([one, other], 1) == []
            began = time.monotonic()
            office.comment(ticket, "Are you there?")
            assert answered([one], 5) == [one]
            assert time.monotonic() - began < 1
            assert news(one) == ["Are you there?"]
            assert answered([other], 1) == []
            assert answered([other], 6) == [other]
            assert news(other) == []


def test_other_processes_wake_within_a_second(settings, tmp_path):
    """The system spreads the connections over three workers."""
    with serving(tmp_path / "instance", command=FORKED, WORKERS=3, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        for number in range(8):
            with closing(asked(served, bot, wait=20)) as waiting:
                assert answered([waiting], 0.3) == []
                office.comment(ticket, str(number))
                began = time.monotonic()
                assert answered([waiting], 5) == [waiting]
                assert time.monotonic() - began < 1
                assert news(waiting) == [str(number)]


def test_an_event_while_the_call_arrives_is_not_missed(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        for number in range(40):
            with closing(asked(served, bot, wait=20)) as waiting:
                time.sleep(number % 10 / 1000)
                office.comment(ticket, str(number))
                assert answered([waiting], 2) == [waiting], number
                assert news(waiting) == [str(number)]


def test_a_bot_has_so_many_places_and_leaving_frees_one(settings, tmp_path):
    with (
        serving(tmp_path / "instance", command=FORKED, **settings) as served,
        ExitStack() as held,
    ):
        office = Office(served)
        bot, _ = office.bot()
        waiting = [
            held.enter_context(closing(asked(served, bot, wait=25))) for _ in range(MOST_OF_BOT)
        ]
        assert answered(waiting, 1) == []
        with closing(asked(served, bot, wait=25)) as surplus:
            assert answered([surplus], 2) == [surplus]
            assert result(surplus)["waited"] is False
        for one in waiting[:2]:
            one.close()
        time.sleep(0.5)
        for _ in range(2):
            again = held.enter_context(closing(asked(served, bot, wait=25)))
            assert answered([again], 1) == []


def test_who_waits_is_answered_when_the_server_stops(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, _ = office.bot()
        with closing(asked(served, bot, wait=25)) as waiting:
            assert answered([waiting], 1) == []
            began = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            assert answered([waiting], 5) == [waiting]
            assert result(waiting)["retry_after_seconds"] == 5
            assert served.process.wait(timeout=20) == 0
            assert time.monotonic() - began < 5
        assert "Traceback" not in served.output()


def test_a_token_that_was_revoked_gets_nothing(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        with closing(asked(served, bot, wait=25)) as waiting:
            assert answered([waiting], 0.5) == []
            office.owner.call("POST", f"/bots/{bot.id}/tokens/revoke")
            office.comment(ticket)
            assert answered([waiting], 5) == [waiting]
            assert waiting.recv(65_536).startswith(b"HTTP/1.1 401 ")


@pytest.mark.quiet
def test_500_bots_wait_and_all_are_woken(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        for _ in range(BOTS):
            office.bot()
        worker = psutil.Process(served.workers()[0])
        alone, before = typical(office), worker.memory_info().rss
        with waits(office) as waiting:
            assert answered(waiting, 1) == []
            # Others are as fast, but for what the machine makes of it.
            until(lambda: typical(office) < alone * 1.2 + 0.001)
            assert worker.memory_info().rss - before < 100 * 1024 * 1024
        with waits(office) as waiting:
            for ticket in office.tickets:
                office.comment(ticket)
            assert len(answered(waiting, 20)) == BOTS
            assert [news(one) for one in waiting] == [["Now"]] * BOTS


@contextmanager
def waits(office):
    """A waiting call of each bot."""
    with ExitStack() as held:
        yield [
            held.enter_context(closing(asked(office.served, bot, wait=25))) for bot in office.bots
        ]


def typical(office):
    """The median time of a read and of a write that concerns nobody, in seconds."""
    ticket = office.owner.call("POST", f"/projects/{office.project}/tickets", {"title": "x"})
    times = []
    for _ in range(40):
        began = time.monotonic()
        office.owner.call("GET", "/auth/me")
        office.comment(ticket["id"])
        times.append(time.monotonic() - began)
    return sorted(times)[20]
