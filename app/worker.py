"""What a worker process does: it loads the application, and answers what the server hands it."""

import ctypes
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.util import Finalize
from threading import Thread
from typing import Any, Protocol, TypeAlias, cast
from wsgiref.types import WSGIApplication

from flask import Flask
from granian.server import mp

from app.bodies import Unread, has_body, receive
from app.config import Settings
from app.core.held import Held
from app.core.processes import deliver_signals, end_with
from app.gate import HELD, gate
from app.threads import KEPT_FREE, KEPT_TO_READ, Takers

# For requests in flight when the server is told to stop (SIGTERM); then they are cut off.
GRACE_SECONDS = 15
# Heaps that the threads of a worker share. With one for each, all would keep the most that any
# request ever took.
HEAPS = 2
# As glibc names that setting (malloc.h).
M_ARENA_MAX = -8
# Threads that take requests at a time (app/threads.py). While one waits for PostgreSQL, which may
# be far away, others have something to do.
TAKERS_ON_SQLITE = 1
TAKERS_ON_POSTGRESQL = 3

# The application as the parent made it. A worker that is forked goes on with it and shares its
# memory; one that is spawned, where there is no safe fork, finds none here and makes its own.
_made: list[Flask] = []


log = logging.getLogger(__name__)

# What PEP 3333 asks for, and the server leaves to us.
_ENVIRON: dict[str, Any] = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}


class Exchange(Protocol):
    """Where the server takes the answer to one request, from any thread."""

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Send it whole."""

    def response_iter(self, status: int, headers: list[tuple[str, str]], body: Any) -> None:
        """Send it piece by piece."""


# What a thread of the server's pool does with a request: its exchange, and its part of the
# environment.
Answer: TypeAlias = Callable[[Exchange, dict[str, Any]], None]


def load(settings: Settings, parent: int) -> Answer:
    """What a worker does with a request; sees to it that the worker ends when it should."""
    # The package imports this module, so it can only be imported once that is done.
    from app import create_app  # noqa: PLC0415
    from app.jobs.scheduler import Jobs  # noqa: PLC0415

    # Out of the terminal's group: Ctrl+C reaches the parent alone, which stops the rest in order.
    os.setsid()
    with suppress(AttributeError):
        # Of glibc; another library may have no such setting.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, HEAPS)
    threading.Thread(target=end_with, args=(parent, GRACE_SECONDS), daemon=True).start()
    deliver_signals()
    app = _made[0] if _made else _warmed(create_app(settings))
    jobs = Jobs(app)
    jobs.start()
    # Workers are processes of multiprocessing, which end without looking at atexit.
    Finalize(None, jobs.stop, exitpriority=10)
    takers = Takers(TAKERS_ON_SQLITE if settings.is_sqlite else TAKERS_ON_POSTGRESQL)
    gated = gate(
        app,
        takers,
        places=settings.threads,
        takes_turns=settings.is_sqlite,
    )
    # The server would wrap an application of WSGI, and then has no word for what a thread does
    # after its answer.
    vars(mp)["_wsgi_call_wrap"] = lambda answer, _options, _log_format: answer
    return answering(gated, takers, max_body=settings.max_request_bytes)


def keep_ready(app: Flask) -> None:
    """In the parent: have the workers that it forks go on with this application."""
    _made.append(_warmed(app))


def _warmed(app: Flask) -> Flask:
    """The application, with all that no request should have to wait for."""
    from app.web.render import warm  # noqa: PLC0415 - as in ``load``

    warm(app)
    # What is here now stays: the collector need not look at it again and again, nor touch what
    # workers share.
    gc.collect()
    gc.freeze()
    return app


def answering(application: WSGIApplication, takers: Takers, *, max_body: int) -> Answer:
    """Have the application answer, in the thread that took the request or in one of its own.

    Of a body ``max_body`` + 1 bytes are read at most.
    """

    def answer(exchange: Exchange, sent: dict[str, Any]) -> None:
        takers.took()
        try:
            with failures_told(exchange):
                work(exchange, _ENVIRON | sent)
        finally:
            # The thread may rest in here for long, and the request must not stay with it.
            sent.clear()
            takers.finished()

    def work(exchange: Exchange, environ: dict[str, Any]) -> None:
        if has_body(environ) and not takers.leave(KEPT_FREE):
            environ["wsgi.input"] = Unread()
        elif not receive(environ, takers, max_body):
            # Nobody reads this any more.
            exchange.response_bytes(400, [], b"")
            return
        if takers.leave(KEPT_TO_READ) or not hand_on(exchange, environ):
            respond(exchange, environ)

    def hand_on(exchange: Exchange, environ: dict[str, Any]) -> bool:
        """Have a thread of its own answer this; False where no more threads can be had."""
        try:
            Thread(target=respond_alone, args=(exchange, environ), daemon=True).start()
        except RuntimeError:
            return False
        return True

    def respond_alone(exchange: Exchange, environ: dict[str, Any]) -> None:
        with failures_told(exchange):
            respond(exchange, environ)

    def respond(exchange: Exchange, environ: dict[str, Any]) -> None:
        """Send the application's answer."""
        begun: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> Any:
            begun[:] = (int(status[:3]), headers)

        body: Iterable[bytes] = application(environ, cast("Any", start_response))
        status, headers = begun
        if isinstance(body, list):
            send = partial(exchange.response_bytes, status, headers, b"".join(body))
            held: Held | None = environ.get(HELD)
            if held is None:
                send()
            else:
                held.made(failures_told(exchange)(send))
            return
        try:
            # Its reader may be slow.
            Thread(target=exchange.response_iter, args=(status, headers, body), daemon=True).start()
        except RuntimeError:
            exchange.response_iter(status, headers, body)

    return answer


@contextmanager
def failures_told(exchange: Exchange) -> Iterator[None]:
    """A request that the application fails to answer, which it must not, is answered with 500."""
    try:
        yield
    except BaseException:
        log.exception("a request was not answered")
        # Nothing, where an answer was sent before.
        exchange.response_bytes(500, [], b"")
