"""A worker process: uvicorn around the ASGI application, with bounds on what a peer may hold."""

import ctypes
import gc
import os
import resource
import signal
import socket
import threading
import time
from asyncio import TimerHandle, Transport
from collections import Counter
from contextlib import suppress
from http import HTTPStatus
from typing import ClassVar

import uvicorn
from flask import Flask
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.config import Settings
from app.core.errors import RequestMalformed
from app.serving.asgi import UNREAD_SECONDS, Application, refusal


def end_with(parent: int, grace: float) -> None:
    """Wait for the parent to end; then end this process, gracefully within ``grace`` seconds."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)


# For requests in flight when the server is told to stop (SIGTERM); then they are cut off.
GRACE_SECONDS = 15
# For a client to send its headers; also how long an idle connection is kept.
HEAD_SECONDS = 20
HEAD_BYTES = 64 * 1024
# Connections of one worker, idle ones included, where the system grants as many files twice; half
# of them may be from one address.
CONNECTIONS = 4096
BACKLOG = 1024
# Heaps that the threads of a worker share. With one for each, all would keep the most that any
# request ever took.
HEAPS = 2
# As glibc names that setting (malloc.h).
M_ARENA_MAX = -8

# The application as the parent made it. A worker that is forked goes on with it and shares its
# memory; one that is spawned, where there is no safe fork, finds none here and makes its own.
_made: list[Flask] = []


def keep_ready(app: Flask) -> None:
    """In the parent: have the workers that it forks go on with this application."""
    _made.append(_warmed(app))


def _warmed(app: Flask) -> Flask:
    """The application, with all that no request should have to wait for."""
    from app.web.render import warm  # noqa: PLC0415 - as in ``work``

    warm(app)
    # What is here now stays: the collector need not look at it again and again, nor touch what
    # workers share.
    gc.collect()
    gc.freeze()
    return app


def work(settings: Settings, parent: int) -> None:
    """Serve until SIGTERM, or until the parent ends."""
    # The package imports this module, so it can only be imported once that is done.
    from app import create_app  # noqa: PLC0415

    # Out of the terminal's group: Ctrl+C reaches the parent alone, which stops the rest in order.
    os.setsid()
    with suppress(AttributeError):
        # Of glibc; another library may have no such setting.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, HEAPS)
    threading.Thread(target=end_with, args=(parent, GRACE_SECONDS), daemon=True).start()
    app = _made[0] if _made else _warmed(create_app(settings))
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    Connection.most = min(CONNECTIONS, files // 2)
    Connection.is_behind_proxy = settings.trusted_proxies > 0
    config = uvicorn.Config(
        Application(app, settings),
        http=Connection,
        ws="none",
        loop="uvloop",
        lifespan="on",
        interface="asgi3",
        # Requests are logged by the application alone, which knows what must not be shown.
        log_config=None,
        log_level="critical",
        access_log=False,
        # The application knows which proxies are trusted.
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=HEAD_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS - 2,
    )
    uvicorn.Server(config).run(sockets=[listener(settings.host, settings.port)])


def listener(host: str, port: int) -> socket.socket:
    """A socket for this address, on which each worker listens; raises OSError."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The system spreads connections over all that listen there.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


class HeadRefused(Exception):
    """The head of a request is refused with this status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status)
        self.status = status


class Connection(HttpToolsProtocol):
    """A client's connection, which has HEAD_SECONDS and HEAD_BYTES for the head of a request."""

    of_address: ClassVar[Counter[str]] = Counter()
    most: ClassVar[int] = CONNECTIONS
    # All connections come from one address then.
    is_behind_proxy: ClassVar[bool] = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take it, unless there are too many."""
        super().connection_made(transport)
        self.head_bytes = 0
        self.refusal = HTTPStatus.BAD_REQUEST
        self.head_timer: TimerHandle | None = None
        self.address = self.client[0] if self.client else ""
        self.of_address[self.address] += 1
        if len(self.connections) > self.most or (
            self.of_address[self.address] > self.most // 2 and not self.is_behind_proxy
        ):
            transport.abort()
            return
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # The system ends a connection whose peer takes nothing of what is sent to it.
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_SECONDS * 1000)
            )
        self.await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of it."""
        self.of_address[self.address] -= 1
        if self.of_address[self.address] <= 0:
            del self.of_address[self.address]
        if self.head_timer is not None:
            self.head_timer.cancel()
        super().connection_lost(exc)

    def await_head(self) -> None:
        """End the connection where no head of a request is whole in time."""
        self.head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self.head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self.await_head()
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin with the head of a request."""
        self.head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address; raises Refused."""
        self._count(url, HTTPStatus.REQUEST_URI_TOO_LONG)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; raises Refused."""
        self._count(name + value, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        super().on_header(name, value)

    def _count(self, part: bytes, refusal: HTTPStatus) -> None:
        # With what stands between them on the line.
        self.head_bytes += len(part) + 4
        if self.head_bytes > HEAD_BYTES:
            self.refusal = refusal
            raise HeadRefused(refusal)

    def on_headers_complete(self) -> None:
        """Begin the request."""
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Say in the envelope why what was sent is no request, and end the connection."""
        headers, body = refusal(RequestMalformed(self.refusal))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self.transport.write(b"".join([STATUS_LINE[self.refusal], head.encode(), b"\r\n", body]))
        self.transport.close()
