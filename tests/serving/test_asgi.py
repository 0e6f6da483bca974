"""The ASGI application: bodies arrive whole or fail with a reason; responses are bounded."""

import asyncio
import io
from contextvars import ContextVar

import pytest
from flask import has_app_context

from app.core.errors import RateLimited, RequestTimeout, RequestTooLarge
from app.core.lanes import Lane, require
from app.http.flask_app import FAILED, STREAMED
from app.serving import asgi, client_limits, uploads
from tests.serving.conftest import LIMIT, Client, Wsgi, ask, read_failed, scope
from tests.support.event_loop import run_async

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("sent", "headers", "arrives"),
    [
        ([b"abc"], {"content-length": "3"}, b"abc"),
        ([b"a", b"bc"], {"content-length": "3"}, b"abc"),
        ([b"abc"], {"transfer-encoding": "chunked"}, b"abc"),
        ([b""], {"transfer-encoding": "chunked"}, b""),
        ([b"abc"], {}, b""),
        ([b"abc"], {"content-length": "0"}, b""),
        ([b"x" * LIMIT], {"content-length": "1"}, b"x" * LIMIT),
        ([b"x" * LIMIT, b"yz"], {"content-length": "1"}, b"x" * LIMIT + b"y"),
        ([b"x" * LIMIT] * 3, {"transfer-encoding": "chunked"}, b"x" * (LIMIT + 1)),
    ],
)
def test_what_arrives(application, sent, headers, arrives):
    wsgi = Wsgi()
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert ask(application(wsgi), Client(*sent), headers=raw).status == 200
    assert wsgi.bodies == [arrives]


def test_who_leaves_before_the_end_of_a_body_is_not_answered(application):
    wsgi, client = Wsgi(), Client(b"ab", more=True)
    client.gone.set()
    ask(application(wsgi), client, headers=[(b"content-length", b"3")])
    assert client.sent == []
    assert wsgi.bodies == []


def test_an_endless_body_is_not_read_to_its_end(application):
    class Endless(Client):
        given = 0

        async def receive(self):
            self.given += 2**20
            return {"type": "http.request", "body": b"x" * 2**20, "more_body": True}

    endless = Endless()
    with pytest.raises(RequestTooLarge):
        read_failed(application, endless)
    assert endless.given <= LIMIT + uploads.DRAINED_BYTES + 2**20


@pytest.mark.parametrize("sent", [[], [b"ab"]])
def test_a_body_that_does_not_arrive_in_time_is_told_so(application, sent):
    client = Client(*sent, more=True)
    client.messages = client.messages if sent else []
    with pytest.raises(RequestTimeout):
        read_failed(application, client)


def test_an_address_has_so_many_slow_bodies(application, monkeypatch):
    monkeypatch.setattr(client_limits, "SLOW_UPLOADS", 2)
    outcomes = []

    def answer(environ, start_response):
        try:
            outcomes.append(environ["wsgi.input"].read())
        except (RateLimited, RequestTimeout) as error:
            outcomes.append(type(error))
        start_response("200 OK", [])
        return []

    async def all_at_once(served):
        clients = [Client(b"ab", more=True) for _ in range(4)]
        asked = scope(headers=[(b"content-length", b"3")])
        other = {**asked, "client": ("192.0.2.8", 1)}
        await asyncio.gather(
            *(served(asked, client.receive, client.send) for client in clients[1:]),
            served(other, clients[0].receive, clients[0].send),
        )

    served = application(answer)
    run_async(all_at_once(served))
    assert sorted(outcomes, key=str) == [RateLimited, *[RequestTimeout] * 3]
    outcomes.clear()
    # Finished ones no longer count.
    run_async(all_at_once(served))
    assert outcomes.count(RateLimited) == 1


def test_a_request_goes_on_in_the_lane_that_it_requires(application):
    seen = []

    def before(environ):
        seen.append(environ.get("changed"))
        environ["changed"] = True
        require(Lane.LONG)

    wsgi = Wsgi(before=before)
    assert ask(application(wsgi), Client(b"abc"), headers=[(b"content-length", b"3")]).status == 200
    # It runs again in each lane, with the whole body.
    assert seen == [None, None]
    assert wsgi.bodies == [b"abc"]


def test_an_answer_that_fails_is_500_and_tells_nothing(application):
    def fail(environ):
        raise KeyError("secret")

    client = ask(application(Wsgi(before=fail)), Client(), method="GET")
    assert client.status == 500
    assert b"server.internal" in client.body
    assert b"secret" not in client.body


@pytest.mark.parametrize(
    "size", [0, 1, asgi.WHOLE_BYTES, asgi.WHOLE_BYTES + 1, 3 * asgi.WHOLE_BYTES]
)
def test_an_answer_leaves_whole(application, size):
    client = ask(application(Wsgi(b"x" * size)), Client(), method="GET")
    assert client.body == b"x" * size
    assert max(len(message["body"]) for message in client.sent[1:]) <= asgi.WHOLE_BYTES
    assert not client.sent[-1].get("more_body")


def test_an_answer_that_nobody_reads_is_dropped(application):
    client = Client(reads=False)
    with pytest.raises(TimeoutError):
        ask(application(Wsgi(b"x" * 2 * asgi.WHOLE_BYTES)), client, method="GET")
    assert len(client.body) == asgi.PIECE_BYTES


def test_one_address_has_so_many_unread_bytes(application, monkeypatch):
    monkeypatch.setattr(client_limits, "UNREAD_BYTES", 3 * asgi.WHOLE_BYTES)
    served = application(Wsgi(b"x" * 2 * asgi.WHOLE_BYTES))

    async def both():
        clients = [Client(reads=False), Client()]
        asked = scope(method="GET")
        await asyncio.gather(
            *(served(asked, client.receive, client.send) for client in clients),
            return_exceptions=True,
        )
        return [client.status for client in clients]

    assert run_async(both()) == [200, 503]
    # The dropped request no longer counts.
    assert ask(served, Client(), method="GET").status == 200


class Pieces:
    """A response that is produced while it is sent."""

    def __init__(self, fails=False):
        self.given, self.is_closed, self.fails = 0, False, fails

    def __iter__(self):
        return self

    def __next__(self):
        self.given += 1
        if self.given > 3:
            if self.fails:
                raise KeyError
            raise StopIteration
        return b"piece"

    def close(self):
        self.is_closed = True


def stream(environ):
    environ[STREAMED] = True


def test_pieces_are_sent_as_they_are_made(application):
    pieces = Pieces()
    client = ask(application(Wsgi(lambda: pieces, stream)), Client(), method="GET")
    assert client.body == b"piece" * 3
    assert not client.sent[-1].get("more_body")
    assert pieces.is_closed


def test_pieces_that_fail_have_no_end(application, caplog):
    pieces, client = Pieces(fails=True), Client()
    with pytest.raises(KeyError):
        ask(application(Wsgi(lambda: pieces, stream)), client, method="GET")
    assert client.sent[-1]["more_body"]
    assert pieces.is_closed
    (line,) = caplog.records
    assert (line.levelname, line.getMessage()) == ("ERROR", "a response ended early")
    assert line.exc_info


def test_no_piece_is_made_while_the_one_before_is_unread(application, caplog):
    pieces, client = Pieces(), Client(reads=False)
    with pytest.raises(TimeoutError):
        ask(application(Wsgi(lambda: pieces, stream)), client, method="GET")
    assert pieces.given == 1
    assert pieces.is_closed
    assert caplog.records == []


def test_no_piece_is_made_for_who_left(application):
    pieces, client = Pieces(), Client()
    client.gone.set()
    ask(application(Wsgi(lambda: pieces, stream)), client, method="GET")
    assert pieces.given <= 1
    assert pieces.is_closed


def test_a_body_that_failed_says_why_however_it_is_read():
    failed = uploads.FailedBody(RequestTimeout())
    for read in (failed.read, failed.readline, lambda: failed.readinto(bytearray(1))):
        with pytest.raises(RequestTimeout):
            read()
    with pytest.raises(RequestTimeout):
        io.BufferedReader(failed).read(1)


def fail(environ):
    environ[FAILED] = True


def test_who_fails_again_and_again_is_answered_ever_later(application, monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    served = application(Wsgi(before=fail))
    monkeypatch.setattr(asgi.asyncio, "sleep", sleep)
    for _ in range(client_limits.FREE_FAILURES):
        assert ask(served, Client(), method="GET").status == 200
    assert waits == []
    for _ in range(400):
        ask(served, Client(), method="GET")
    assert waits[0] < waits[1] < waits[-1] == client_limits.MAX_DELAY_SECONDS
    # Successful requests from the same address do not wait.
    waits.clear()
    monkeypatch.setattr(served, "_app", Wsgi())
    ask(served, Client(), method="GET")
    assert waits == []


def test_of_those_who_fail_so_many_are_remembered(application, monkeypatch):
    """One more address resets all of them."""
    monkeypatch.setattr(client_limits, "FAILING_ADDRESSES", 10)
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    served = application(Wsgi(before=fail))
    monkeypatch.setattr(asgi.asyncio, "sleep", sleep)

    def ask_from(number):
        asked = {**scope(method="GET"), "client": (f"192.0.2.{number}", 1)}
        client = Client()
        run_async(served(asked, client.receive, client.send))

    for others in (8, 9):
        for _ in range(client_limits.FREE_FAILURES + 1):
            ask_from(0)
        assert len(waits) == 1
        waits.clear()
        for number in range(1, others + 1):
            ask_from(number)
        ask_from(0)
        assert len(waits) == (1 if others < 9 else 0)
        waits.clear()
        served = application(Wsgi(before=fail))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_sees_nothing_of_others(application, app, method):
    """The parent process starts workers inside an application context, whose ``g`` is shared."""
    left = ContextVar("left", default="nothing")
    seen = []

    def before(environ):
        seen.append((left.get(), has_app_context()))
        left.set("something")

    served = application(Wsgi(before=before))
    with app.app_context():
        left.set("of the start")
        for _ in range(9):
            ask(served, Client(), method=method)
    assert set(seen) == {("nothing", False)}
