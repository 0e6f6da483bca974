"""A worker process: uvicorn around the ASGI application."""

import ctypes
import gc
import os
import resource
import signal
import socket
import threading
import time
from contextlib import suppress

import uvicorn
from flask import Flask

from app.config import Settings
from app.database import failures
from app.serving.asgi import Application
from app.serving.connection import HEAD_SECONDS, Connection

# The time for requests in flight after SIGTERM; longer ones are aborted.
GRACE_SECONDS = 15
# Connections of one worker, if the system grants twice as many open files.
CONNECTIONS = 4096
BACKLOG = 1024
# glibc's M_ARENA_MAX (malloc.h): the number of heaps that the threads share. With a heap for each
# thread, each would keep as much memory as its largest request used.
M_ARENA_MAX, HEAPS = -8, 2

# The application that the parent created. A forked worker uses it and shares its memory; a spawned
# worker finds none and creates its own.
_inherited: list[Flask] = []


class Server(uvicorn.Server):
    """When it stops, it first answers the requests that wait for news."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._application.stop_waiting()
        await super().shutdown(sockets)


def keep_ready(app: Flask) -> None:
    """In the parent: have forked workers use this application."""
    _inherited.append(_warm(app))


def work(settings: Settings, parent: int, number: int) -> None:
    """Serve until SIGTERM, or until the parent ends; uvicorn handles the signal.

    The parent passes its process id, and a number that a replacement of this worker inherits.
    """
    # Not at the top, because the package imports this module.
    from app import create_app  # noqa: PLC0415

    # A separate session: Ctrl+C reaches only the parent, which stops the workers in order.
    os.setsid()
    with suppress(AttributeError):
        # Only glibc has this setting.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, HEAPS)
    threading.Thread(target=_end_with, args=(parent, GRACE_SECONDS), daemon=True).start()
    app = _inherited[0] if _inherited else _warm(create_app(settings))
    if settings.metrics_token:
        from app.metrics import recording  # noqa: PLC0415 - as in ``app/serving/parent.py``

        recording.enter_worker(number, settings.metrics_folder, app.config["TOOLS"].tools)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    Connection.limit = min(CONNECTIONS, files // 2)
    Connection.is_behind_proxy = settings.trusted_proxies > 0
    failures.log_outages()
    application = Application(app, settings)
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        loop="uvloop",
        lifespan="on",
        interface="asgi3",
        # Only the application logs requests: it knows which parts are secret.
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
    Server(config, application).run(sockets=[_listener(settings.host, settings.port)])


def _warm(app: Flask) -> Flask:
    """The application, with all work done for which no request should wait."""
    from app.web.render import warm  # noqa: PLC0415 - as in ``work``

    warm(app)
    # The collector need not scan permanent objects, nor write to memory that workers share.
    gc.collect()
    gc.freeze()
    return app


def _end_with(parent: int, grace: float) -> None:
    """Wait for the parent to end; then end this process gracefully within ``grace`` seconds."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)


def _listener(host: str, port: int) -> socket.socket:
    """A socket of this worker for the address; the system spreads connections over the workers."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
