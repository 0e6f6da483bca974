"""The ASGI application around the WSGI one: it receives bodies, picks the lane, sends answers.

The event loop does all that waits for a client: a body is received whole before anybody works on
its request, and an answer is sent as fast as its reader takes it. So slow clients hold no thread.
"""

import asyncio
import io
import logging
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from typing import Any, NamedTuple, TypeVar

import orjson
from flask import Flask, Request

from app.accounts import identity, throttle
from app.config import Settings
from app.core import ids
from app.core.context import FAILED, STREAMED
from app.core.errors import (
    DomainError,
    RateLimited,
    RequestTimeout,
    RequestTooLarge,
    Unavailable,
)
from app.core.lanes import LONG_THREADS, Lane, LaneRequired, run
from app.jobs.scheduler import Jobs
from app.serving.environ import Environ, Message, environ_of, has_body

# For the first byte of a body, and for its last.
FIRST_BYTE_SECONDS, LAST_BYTE_SECONDS = 15.0, 60.0
# A body that is not whole by then is slow; a client address has so many at a time.
PROMPT_SECONDS = 1.0
SLOW_BODIES = 32
# Read from a body over the limit and thrown away, so that its sender gets to read the answer 413.
DRAINED = 16 * 1024 * 1024
# For a piece of an answer to be taken.
UNREAD_SECONDS = 30.0
# A longer answer goes out in pieces, each when the one before was taken.
WHOLE = 256 * 1024
PIECE = 64 * 1024
# Of such answers so many bytes wait for one client address.
UNREAD_BYTES = 32 * 1024 * 1024

# So many failures of an address in a minute are answered at once; of so many addresses is noted.
FREE_FAILURES = 60
FAILING_ADDRESSES = 10_000
LONGEST_WAIT_SECONDS = 5.0
# Whoever is on this machine is no stranger.
LOOPBACK = ("127.", "::/")

# Tells whether the process lives, so it must not wait for requests that wait for the database.
LIVENESS = "/healthz"
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})

CLOSE = ("Connection", "close")

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
T = TypeVar("T")

log = logging.getLogger(__name__)


class HttpAnswer(NamedTuple):
    """What the application answers: its body is whole, or an iterator of pieces to be made."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes | Iterator[bytes]
    # To a credential that is none, or an address where nothing is.
    is_failure: bool = False


def refusal(error: DomainError) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the error envelope of an answer for which the application is not asked."""
    body = orjson.dumps({"error": {"code": error.code, "message": error.message}})
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Request-Id", ids.new_id()),
        CLOSE,
    ]
    return headers, body


class FailedBody(io.RawIOBase):
    """Stands for a body of which not all was received; to read it raises why."""

    def __init__(self, error: DomainError) -> None:
        self._error = error

    def seek(self, _offset: int, _whence: int = io.SEEK_SET, /) -> int:
        """Do nothing: nothing was read."""
        return 0

    def readable(self) -> bool:
        """It can be tried."""
        return True

    def readinto(self, _buffer: Any, /) -> int:
        """Raise."""
        raise self._error


class Application:
    """The ASGI application."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        # A read of PostgreSQL waits for the network.
        self._reads = Lane.LOOP if settings.is_sqlite else Lane.POOL
        self._pools = {
            Lane.POOL: ThreadPoolExecutor(settings.threads, "request"),
            Lane.LONG: ThreadPoolExecutor(LONG_THREADS, "long-request"),
        }
        self._slow: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._failing: Counter[str] = Counter()
        self._failing_since = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection of the protocol: the lifespan, or a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Run the jobs from the beginning to the end of the worker."""
        await receive()
        jobs = Jobs(self._app)
        jobs.start()
        # Blocked since before this process began (app/serving/parent.py): now uvicorn handles them.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        jobs.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        environ = environ_of(scope)
        body = await self._received(environ, receive) if has_body(environ) else io.BytesIO()
        if body is None:
            # The client left.
            return
        try:
            answer = await self._answered(environ, body)
        except Exception:
            log.exception("a request was not answered")
            answer = HttpAnswer(500, *refusal(DomainError("Something went wrong on our side.")))
        if answer.is_failure:
            await self._slow_down(environ)
        if isinstance(body, FailedBody):
            # What was not received would be taken for the next request.
            answer.headers.append(CLOSE)
        await self._sent(answer, environ, receive, send)

    async def _received(self, environ: Environ, receive: Receive) -> io.IOBase | None:
        """The body, of which MAX_REQUEST_BYTES + 1 bytes are kept; None where the client left.

        The application answers 413 itself (``http/current.py``), and tells why a body failed.
        """
        limit, kept, seen = self._settings.max_request_bytes, io.BytesIO(), 0
        try:
            async with self._slowness(environ) as deadline:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    if seen == 0:
                        later = LAST_BYTE_SECONDS - FIRST_BYTE_SECONDS
                        deadline.reschedule((deadline.when() or 0) + later)
                    seen += len(message["body"])
                    kept.write(message["body"][: limit + 1 - kept.tell()])
                    if not message.get("more_body"):
                        break
                    if seen > limit + DRAINED:
                        return FailedBody(RequestTooLarge(limit))
        except TimeoutError:
            return FailedBody(RequestTimeout())
        except RateLimited as error:
            return FailedBody(error)
        kept.seek(0)
        return kept

    @asynccontextmanager
    async def _slowness(self, environ: Environ) -> AsyncIterator[asyncio.Timeout]:
        """A deadline for a body; raises RateLimited where its client has too many slow ones."""
        client: str | None = None
        is_refused = False

        def count() -> None:
            nonlocal client, is_refused
            client = self._client(environ)
            self._slow[client] += 1
            is_refused = self._slow[client] > SLOW_BODIES
            if is_refused:
                deadline.reschedule(0)

        timer = asyncio.get_running_loop().call_later(PROMPT_SECONDS, count)
        try:
            async with asyncio.timeout(FIRST_BYTE_SECONDS) as deadline:
                yield deadline
        except TimeoutError:
            if is_refused:
                raise RateLimited(int(LAST_BYTE_SECONDS)) from None
            raise
        finally:
            timer.cancel()
            if client is not None:
                _release(self._slow, client, 1)

    async def _answered(self, environ: Environ, body: io.IOBase) -> HttpAnswer:
        """The application's answer, from the lane where it can be had."""
        is_read = environ["REQUEST_METHOD"] in ("GET", "HEAD")
        lane = self._reads if is_read else Lane.POOL
        if environ["PATH_INFO"] == LIVENESS:
            lane = Lane.LOOP
        while True:
            # The application changes its environment, so each lane gets one of its own.
            work = partial(self._call, {**environ, "wsgi.input": body})
            try:
                if lane is Lane.LOOP:
                    return _alone(lane, work)
                return await self._in_thread(lane, work)
            except LaneRequired as elsewhere:
                body.seek(0)
                lane = elsewhere.lane

    async def _in_thread(self, lane: Lane, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[lane], _alone, lane, work)

    def _call(self, environ: Environ) -> HttpAnswer:
        begun: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> Any:
            begun[:] = (int(status[:3]), headers)

        parts: Iterable[bytes] = self._app(environ, start_response)
        if environ.get(STREAMED):
            return HttpAnswer(begun[0], begun[1], iter(parts))
        try:
            return HttpAnswer(begun[0], begun[1], b"".join(parts), FAILED in environ)
        finally:
            _close(parts)

    async def _sent(
        self, answer: HttpAnswer, environ: Environ, receive: Receive, send: Send
    ) -> None:
        """Send the answer; raises TimeoutError where nobody reads it."""
        status, headers, body = answer.status, answer.headers, answer.body
        if not isinstance(body, bytes):
            await _begin(send, status, headers)
            await self._stream(body, receive, send)
        elif len(body) <= WHOLE:
            await _begin(send, status, headers)
            await send({"type": "http.response.body", "body": body})
        else:
            client = self._client(environ)
            if self._unread[client] + len(body) > UNREAD_BYTES:
                error = Unavailable()
                headers, small = refusal(error)
                await _begin(send, error.status, headers)
                await send({"type": "http.response.body", "body": small})
                return
            self._unread[client] += len(body)
            try:
                await _begin(send, status, headers)
                for start in range(0, len(body), PIECE):
                    await _give(send, body[start : start + PIECE])
                await send({"type": "http.response.body", "body": b""})
            finally:
                _release(self._unread, client, len(body))

    async def _stream(self, pieces: Iterator[bytes], receive: Receive, send: Send) -> None:
        """Send pieces as they are made, none while the one before is unread.

        One that fails is raised, and the connection then ends without the end of its answer.
        """
        left = asyncio.ensure_future(_left(receive))
        try:
            while not left.done():
                piece = await self._in_thread(Lane.LONG, partial(next, pieces, None))
                if piece is None:
                    await send({"type": "http.response.body", "body": b""})
                    break
                await _give(send, piece)
        finally:
            left.cancel()
            await self._in_thread(Lane.LONG, partial(_close, pieces))

    async def _slow_down(self, environ: Environ) -> None:
        """Wait the longer the more failures the address had in this minute.

        The wait holds no thread, and comes after the answer is made: a good credential never waits.
        """
        now = time.monotonic()
        if now - self._failing_since > 60 or len(self._failing) >= FAILING_ADDRESSES:
            self._failing.clear()
            self._failing_since = now
        client = self._client(environ)
        self._failing[client] += 1
        surplus = self._failing[client] - FREE_FAILURES
        if surplus > 0 and not client.startswith(LOOPBACK):
            await asyncio.sleep(min(surplus * 0.02, LONGEST_WAIT_SECONDS))

    def _client(self, environ: Environ) -> str:
        """The address behind the trusted proxies, or its network."""
        with self._app.app_context():
            return throttle.network_of(identity.client(Request(environ)).address)


def _alone(lane: Lane, work: Callable[[], T]) -> T:
    """Work in a context of its own: what others left in theirs, even the start, is not seen."""
    return Context().run(run, lane, work)


async def _left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _begin(send: Send, status: int, headers: list[tuple[str, str]]) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _give(send: Send, piece: bytes) -> None:
    """Send a piece once there is room for it; raises TimeoutError where nobody reads."""
    async with asyncio.timeout(UNREAD_SECONDS):
        await send({"type": "http.response.body", "body": piece, "more_body": True})


def _release(counts: Counter[str], client: str, number: int) -> None:
    counts[client] -= number
    if counts[client] <= 0:
        del counts[client]


def _close(parts: Any) -> None:
    close = getattr(parts, "close", None)
    if close is not None:
        close()
