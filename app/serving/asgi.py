"""The ASGI application around the WSGI one.

The event loop does all waiting for clients: it receives the whole body before the application runs,
and sends the response at the pace of its reader. So a slow client blocks no thread.
"""

import asyncio
import io
import logging
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import Context
from functools import partial
from typing import IO, TypeVar

import orjson
from flask import Flask, Request

from app.accounts import authentication, throttle
from app.config import Settings
from app.core import ids
from app.core.errors import DomainError, RateLimited, Unavailable
from app.core.lanes import LONG_THREADS, Lane, LaneRequired, run
from app.core.messages import WENT_WRONG
from app.core.waiting import Waiting, run_waiting
from app.http.multipart import FORM_OVERHEAD_BYTES, is_upload
from app.jobs.scheduler import Jobs
from app.serving.client_limits import UNREAD_SECONDS, ClientLimits
from app.serving.uploads import BodyLimit, ClientLeft, FailedBody, Receive, receive_body
from app.serving.waiting import WaitingRequests, wait_for_disconnect
from app.serving.wsgi import (
    Environ,
    Headers,
    HttpResponse,
    Message,
    StreamedResponse,
    call,
    close,
    environ_of,
    has_body,
)

# A longer response is sent in pieces, each after the client took the previous one.
WHOLE_BYTES, PIECE_BYTES = 256 * 1024, 64 * 1024

# The response says whether the process lives, so it must not queue behind waiting requests.
LIVENESS_PATH = "/healthz"
# The signals that end a server.
STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
CLOSE = ("Connection", "close")

Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")

log = logging.getLogger(__name__)


def refusal(error: DomainError) -> HttpResponse:
    """The error envelope for a request that does not reach Flask; the connection is closed."""
    body = orjson.dumps({"error": {"code": error.code, "message": error.message}})
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("X-Request-Id", ids.new_id()),
        CLOSE,
    ]
    return HttpResponse(error.status, headers, body)


class Application:
    """The ASGI application of one worker."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app = app
        self._body_limit = BodyLimit(settings.max_request_bytes)
        self._file_limit = BodyLimit(
            settings.files_max_bytes + FORM_OVERHEAD_BYTES, settings.incoming_dir
        )
        self._incoming = settings.incoming_dir
        # A read of SQLite never waits; one of PostgreSQL waits for the network.
        self._read_lane = Lane.LOOP if settings.is_sqlite else Lane.POOL
        self._pools = {
            Lane.POOL: ThreadPoolExecutor(settings.threads, "request"),
            Lane.LONG: ThreadPoolExecutor(LONG_THREADS, "long-request"),
        }
        self._limits = ClientLimits()
        self._waiting = WaitingRequests(app)

    def stop_waiting(self) -> None:
        """Answer the requests that wait for news, because the worker is about to end."""
        self._waiting.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_jobs(receive, send)
        elif scope["type"] == "http":
            await self._serve(environ_of(scope), receive, send)

    async def _run_jobs(self, receive: Receive, send: Send) -> None:
        """Run the background jobs from startup to shutdown."""
        await receive()
        jobs = Jobs(self._app)
        jobs.start()
        # The parent blocks these signals (parent.py); from here on uvicorn handles them.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        jobs.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, environ: Environ, receive: Receive, send: Send) -> None:
        body: IO[bytes] | FailedBody = io.BytesIO()
        if has_body(environ):
            try:
                body = await self._receive_body(environ, receive)
            except ClientLeft:
                return
        with body:
            await self._answer(environ, body, receive, send)

    async def _receive_body(self, environ: Environ, receive: Receive) -> IO[bytes] | FailedBody:
        """The body of a request; raises ClientLeft."""
        count_slow = partial(self._count_slow, environ)
        # Without a credential the file would be refused, so do not receive it.
        if not (is_upload(environ) and authentication.presented(Request(environ))):
            return await receive_body(receive, self._body_limit, count_slow)
        try:
            with self._limits.file_upload(self._client(environ)):
                self._incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
                return await receive_body(receive, self._file_limit, count_slow)
        except RateLimited as error:
            return FailedBody(error)

    def _count_slow(self, environ: Environ) -> AbstractContextManager[None]:
        return self._limits.slow_upload(self._client(environ))

    async def _answer(
        self, environ: Environ, body: IO[bytes] | FailedBody, receive: Receive, send: Send
    ) -> None:
        try:
            response = await self._waiting.answer(partial(self._respond, environ, body), receive)
        except ClientLeft:
            return
        except Exception:
            log.exception("a request was not answered")
            response = refusal(DomainError(WENT_WRONG))
        if isinstance(body, FailedBody):
            # Otherwise the rest of the body would be read as the next request.
            response.headers.append(CLOSE)
        if isinstance(response, StreamedResponse):
            await self._stream(response, receive, send)
            return
        # The delay comes after the application has responded: a valid credential never waits.
        if response.is_failure and (delay := self._limits.failure_delay(self._client(environ))):
            await asyncio.sleep(delay)
        if len(response.body) <= WHOLE_BYTES:
            await _send_whole(send, response)
        else:
            await self._send_large(response, self._client(environ), send)

    async def _respond(
        self, environ: Environ, body: IO[bytes] | FailedBody, waiting: Waiting
    ) -> HttpResponse | StreamedResponse:
        """Call the application, again in another lane if it requires one."""
        body.seek(0)
        is_read = environ["REQUEST_METHOD"] in ("GET", "HEAD")
        lane = self._read_lane if is_read else Lane.POOL
        if environ["PATH_INFO"] == LIVENESS_PATH:
            lane = Lane.LOOP
        while True:
            # The application changes its environment, so each attempt gets a copy.
            work = partial(call, self._app, {**environ, "wsgi.input": body})
            try:
                if lane is Lane.LOOP:
                    return _run_isolated(lane, work)
                return await self._in_thread(lane, partial(run_waiting, waiting, work))
            except LaneRequired as required:
                body.seek(0)
                lane = required.lane

    async def _in_thread(self, lane: Lane, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[lane], _run_isolated, lane, work)

    async def _send_large(self, response: HttpResponse, client: str, send: Send) -> None:
        """Send a response in pieces, or 503 if the client has too much unread."""
        try:
            with self._limits.unread(client, len(response.body)):
                await _send_head(send, response.status, response.headers)
                for start in range(0, len(response.body), PIECE_BYTES):
                    await _send_piece(send, response.body[start : start + PIECE_BYTES])
                await send({"type": "http.response.body", "body": b""})
        except Unavailable as error:
            await _send_whole(send, refusal(error))

    async def _stream(self, response: StreamedResponse, receive: Receive, send: Send) -> None:
        """Send pieces as they are made, each after the client took the previous one.

        Raises errors of making a piece. The connection then ends without the end of the response.
        """
        await _send_head(send, response.status, response.headers)
        client_left = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            while not client_left.done():
                try:
                    piece = await self._in_thread(Lane.LONG, partial(next, response.pieces, None))
                except Exception:
                    request = dict(response.headers).get("X-Request-Id")
                    log.exception("a response ended early", extra={"request_id": request})
                    raise
                if piece is None:
                    await send({"type": "http.response.body", "body": b""})
                    break
                await _send_piece(send, piece)
        finally:
            client_left.cancel()
            await self._in_thread(Lane.LONG, partial(close, response.pieces))

    def _client(self, environ: Environ) -> str:
        """The client's address behind the trusted proxies, or its network."""
        with self._app.app_context():
            return throttle.network_of(authentication.peer(Request(environ)).address)


def _run_isolated(lane: Lane, work: Callable[[], T]) -> T:
    """Run in an empty context, which shares no variables with other requests or with startup."""
    return Context().run(run, lane, work)


async def _send_whole(send: Send, response: HttpResponse) -> None:
    await _send_head(send, response.status, response.headers)
    await send({"type": "http.response.body", "body": response.body})


async def _send_head(send: Send, status: int, headers: Headers) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _send_piece(send: Send, piece: bytes) -> None:
    """Send a piece once there is room for it; raises TimeoutError if the client does not read."""
    async with asyncio.timeout(UNREAD_SECONDS):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
