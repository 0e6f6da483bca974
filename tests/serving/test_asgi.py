"""The ASGI application: bodies arrive whole or say why not, and answers leave bounded."""

import asyncio
import io
from contextvars import ContextVar
from dataclasses import replace

import pytest
from flask import has_app_context

from app.core.context import FAILED, STREAMED
from app.core.errors import RateLimited, RequestTimeout, RequestTooLarge, Unavailable
from app.core.lanes import Lane, require
from app.serving import asgi, client_limits, uploads
from app.serving.asgi import Application

pytestmark = pytest.mark.one_database

LIMIT = 65_536


class Wsgi:
    """A WSGI application that tells what it was asked, and answers as it is told."""

    def __init__(self, answer=b"ok", before=lambda environ: None):
        self.answer, self.before = answer, before
        self.bodies = []

    def __call__(self, environ, start_response):
        self.before(environ)
        self.bodies.append(environ["wsgi.input"].read())
        start_response("200 OK", [("Content-Type", "text/plain")])
        if environ.get(STREAMED):
            return self.answer()
        return [self.answer]


def scope(method="POST", path=b"/x", headers=()):
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "raw_path": path,
        "query_string": b"a=%zz",
        "headers": [(b"host", b"localhost"), *headers],
        "server": ("127.0.0.1", 8000),
        "client": ("192.0.2.7", 5000),
    }


class Client:
    """The other end of one request: what it sends, and what it was sent."""

    def __init__(self, *body, more=False, reads=True):
        self.messages = [
            {"type": "http.request", "body": part, "more_body": more or index < len(body) - 1}
            for index, part in enumerate(body or (b"",))
        ]
        self.reads = reads
        self.sent = []
        self.gone = asyncio.Event()

    async def receive(self):
        if self.messages:
            return self.messages.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)
        if not self.reads and message["type"] == "http.response.body":
            await asyncio.Event().wait()

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def body(self):
        return b"".join(message["body"] for message in self.sent[1:])


@pytest.fixture(name="application")
def _application(app, monkeypatch):
    monkeypatch.setattr(uploads, "PROMPT_SECONDS", 0.01)
    monkeypatch.setattr(uploads, "FIRST_BYTE_SECONDS", 0.2)
    monkeypatch.setattr(uploads, "LAST_BYTE_SECONDS", 0.4)
    monkeypatch.setattr(asgi, "UNREAD_SECONDS", 0.1)

    def made(wsgi):
        application = Application(app, replace(app.config["SETTINGS"], max_request_bytes=LIMIT))
        monkeypatch.setattr(application, "_app", wsgi)
        monkeypatch.setattr(application, "_client", lambda environ: environ["REMOTE_ADDR"])
        return application

    return made


def ask(application, client, **asked):
    asyncio.run(asyncio.wait_for(application(scope(**asked), client.receive, client.send), 10))
    return client


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


def read_failed(application, client, **asked):
    """Have the application read a body that failed; raises what it is told."""
    told = []

    def answer(environ, start_response):
        try:
            environ["wsgi.input"].read()
        except Exception as error:
            told.append(error)
        start_response("408 Request Timeout", [])
        return []

    ask(application(answer), client, **(asked or {"headers": [(b"content-length", b"3")]}))
    # What was not received would be taken for the next request.
    assert (b"Connection", b"close") in client.sent[0]["headers"]
    raise told[0]


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
    asyncio.run(all_at_once(served))
    assert sorted(outcomes, key=str) == [RateLimited, *[RequestTimeout] * 3]
    outcomes.clear()
    # Those that ended count no more.
    asyncio.run(all_at_once(served))
    assert outcomes.count(RateLimited) == 1


def test_a_request_goes_on_in_the_lane_that_it_requires(application):
    seen = []

    def before(environ):
        seen.append(environ.get("changed"))
        environ["changed"] = True
        require(Lane.LONG)

    wsgi = Wsgi(before=before)
    assert ask(application(wsgi), Client(b"abc"), headers=[(b"content-length", b"3")]).status == 200
    # Anew in each lane, with its whole body.
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

    assert asyncio.run(both()) == [200, 503]
    # What was dropped counts no more.
    assert ask(served, Client(), method="GET").status == 200


class Pieces:
    """An answer that is made while it is sent."""

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


def test_pieces_that_fail_have_no_end(application):
    pieces, client = Pieces(fails=True), Client()
    with pytest.raises(KeyError):
        ask(application(Wsgi(lambda: pieces, stream)), client, method="GET")
    assert client.sent[-1]["more_body"]
    assert pieces.is_closed


def test_no_piece_is_made_while_the_one_before_is_unread(application):
    pieces, client = Pieces(), Client(reads=False)
    with pytest.raises(TimeoutError):
        ask(application(Wsgi(lambda: pieces, stream)), client, method="GET")
    assert pieces.given == 1
    assert pieces.is_closed


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
    assert waits[0] < waits[1] < waits[-1] == client_limits.LONGEST_DELAY_SECONDS
    # What succeeds does not wait, from the same address.
    waits.clear()
    monkeypatch.setattr(served, "_app", Wsgi())
    ask(served, Client(), method="GET")
    assert waits == []


def test_of_those_who_fail_so_many_are_remembered(application, monkeypatch):
    """With one more than that, all of them begin anew."""
    monkeypatch.setattr(client_limits, "FAILING_ADDRESSES", 10)
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    served = application(Wsgi(before=fail))
    monkeypatch.setattr(asgi.asyncio, "sleep", sleep)

    def ask_from(number):
        asked = {**scope(method="GET"), "client": (f"192.0.2.{number}", 1)}
        client = Client()
        asyncio.run(served(asked, client.receive, client.send))

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
    """The parent process starts workers within an application context, whose ``g`` is shared."""
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


FILE = {
    "content-type": "multipart/form-data; boundary=b",
    "transfer-encoding": "chunked",
    "x-api-key": "a key",
}
PART = bytes(range(256)) * 100


def a_file(**changed):
    """The request of an upload."""
    headers = {**FILE, **changed}.items()
    raw = [(name.encode(), value.encode()) for name, value in headers if value]
    return {"path": b"/api/v1/tickets/OPS-1/files", "headers": raw}


def test_a_file_goes_over_the_disk_and_arrives_whole(application, monkeypatch):
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    wsgi = Wsgi()
    assert ask(application(wsgi), Client(*[PART] * 20), **a_file()).status == 200
    assert wsgi.bodies == [PART * 20]
    assert len(PART * 20) > LIMIT


@pytest.mark.parametrize("changed", [{"x-api-key": ""}, {"content-type": "application/json"}])
def test_what_is_no_file_of_somebody_has_the_usual_limit(application, changed):
    wsgi = Wsgi()
    ask(application(wsgi), Client(*[PART] * 20), **a_file(**changed))
    assert [len(body) for body in wsgi.bodies] == [LIMIT + 1]


def test_a_file_that_stops_coming_is_told_so(application, monkeypatch):
    monkeypatch.setattr(uploads, "SILENT_SECONDS", 0.05)
    monkeypatch.setattr(uploads, "LAST_BYTE_OF_FILE_SECONDS", 60)
    with pytest.raises(RequestTimeout):
        read_failed(application, Client(PART, more=True), **a_file())


def test_a_client_sends_few_files_at_a_time(application, monkeypatch):
    monkeypatch.setattr(client_limits, "FILES_AT_ONCE", 0)
    with pytest.raises(RateLimited):
        read_failed(application, Client(PART), **a_file())


def test_a_file_for_which_there_is_no_room_is_refused(application, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", full)
    with pytest.raises(Unavailable):
        read_failed(application, Client(*[PART] * 3), **a_file())
