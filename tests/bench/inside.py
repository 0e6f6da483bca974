"""CPU time of each operation inside one process, without a server or a client.

    python -m tests.bench.inside [--tickets N] [--only NAME] [--seconds N] [--postgresql] [--where]

On a busy machine this is more accurate than requests a second: the result is the best fifth of a
second. Each operation first sends all its requests once, because a running server's caches are
warm. ``--where`` shows which code takes the time.
"""

import argparse
import io
import os
import sys
import tempfile
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from flask import Flask

from app import create_app
from app.config import Settings
from app.database import schema
from app.search import index
from app.web.render import warm
from tests.bench.filling import PASSWORD, USERNAME, fill
from tests.bench.operations import operations
from tests.bench.sampling import Sampler
from tests.bench.wrk import Request
from tests.support.postgres import start_cluster

PIECE_SECONDS = 0.2
AREAS_SHOWN = 8


def main() -> None:
    """Print CPU microseconds per operation, without those of PostgreSQL itself."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.inside", description=__doc__)
    parser.add_argument("--tickets", type=int, default=10_000, help="(10000)")
    parser.add_argument("--seconds", type=float, default=2, help="for each operation (2)")
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    parser.add_argument("--postgresql", action="store_true", help="not on SQLite")
    parser.add_argument("--where", action="store_true", help="say which code takes the time")
    asked = parser.parse_args()
    with ExitStack() as at_end:
        made = at_end.enter_context(tempfile.TemporaryDirectory(prefix="docket-bench-"))
        url = f"sqlite:///{made}/bench.db"
        if asked.postgresql:
            cluster = start_cluster()
            at_end.callback(cluster.stop)
            url = cluster.create_database("bench")
        settings = Settings(
            instance_dir=Path(made),
            database_url=url,
            secret_key="for one benchmark only, and long enough",
            base_url="http://localhost",
        )
        # Log lines are written, as in a server, but not shown.
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end
        app = create_app(settings)
        warm(app)
        with app.app_context():
            schema.upgrade()
            world = fill(settings, asked.tickets)
        given = {"username": USERNAME, "password": PASSWORD}
        login = app.test_client().post("/api/v1/auth/login", json=given)
        cookie = login.headers["Set-Cookie"].partition(";")[0]
        for operation in operations(world, cookie):
            if asked.only in operation.name:
                for request in operation.requests:
                    status = ask(app, request)
                    assert status.startswith("2"), status
                sampler = Sampler()
                with sampler if asked.where else nullcontext():
                    micros = _best(app, operation.requests, asked.seconds) * 1_000_000
                print(f"{operation.name:26}{micros:10.0f} us", flush=True)
                for name, share in sampler.shares(AREAS_SHOWN):
                    print(f"    {share:6.1%}  {name}", flush=True)


def _best(app: Flask, requests: list[Request], seconds: float) -> float:
    """Return the CPU seconds per request in the fastest slice of the time."""
    best = float("inf")
    count = 0
    ends = time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        spent, first = time.process_time(), count
        while time.perf_counter() - began < PIECE_SECONDS:
            ask(app, requests[count % len(requests)])
            count += 1
        with app.app_context():
            # Include the work that a server thread does a moment later.
            index.flush(own=True)
        best = min(best, (time.process_time() - spent) / (count - first))
    return best


def ask(app: Flask, request: Request) -> str:
    """Send a request without a server; return the status, after reading the whole response."""
    path, _, query = request.path.partition("?")
    body = request.body.encode()
    headers = {name.upper().replace("-", "_"): value for name, value in request.headers.items()}
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": headers.pop("CONTENT_TYPE", ""),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    } | {f"HTTP_{name}": value for name, value in headers.items()}
    answered: list[str] = []

    def start_response(status: str, _headers: Any, _error: Any = None) -> Any:
        answered.append(status)

    parts = app.wsgi_app(environ, start_response)
    b"".join(parts)
    close = getattr(parts, "close", None)
    if close is not None:
        close()
    return answered[0]


if __name__ == "__main__":
    main()
