"""A WSGI application behind the server's own layer, and an ASGI client for it."""

import asyncio
from dataclasses import replace

import pytest

from app.http.flask_app import STREAMED
from app.serving import asgi, uploads
from app.serving.asgi import Application
from tests.support.event_loop import run_async

pytestmark = pytest.mark.one_database

LIMIT = 65_536


class Wsgi:
    """A WSGI application that records request bodies and returns a given response."""

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
    """The client of one request: the messages that it sends and receives."""

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
    run_async(asyncio.wait_for(application(scope(**asked), client.receive, client.send), 10))
    return client


def read_failed(application, client, **asked):
    """Let the application read a failing body; raise the error that it gets."""
    told = []

    def answer(environ, start_response):
        try:
            environ["wsgi.input"].read()
        except Exception as error:
            told.append(error)
        start_response("408 Request Timeout", [])
        return []

    ask(application(answer), client, **(asked or {"headers": [(b"content-length", b"3")]}))
    # The unread rest would be taken for the next request.
    assert (b"Connection", b"close") in client.sent[0]["headers"]
    raise told[0]
