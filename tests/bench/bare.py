"""The yardstick: one Flask route that returns a small JSON, under the same server.

python -m tests.bench.bare PORT WORKERS THREADS
"""

import sys
from wsgiref.types import WSGIApplication

from flask import Flask
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.mp import MPServer


def load() -> WSGIApplication:
    """Load the application in a worker."""
    app = Flask("bare", static_folder=None)

    @app.get("/")
    def answer() -> dict[str, bool]:
        return {"ok": True}

    return app


def main() -> None:
    """Serve until stopped."""
    port, workers, threads = (int(argument) for argument in sys.argv[1:])
    MPServer(
        "bare",
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=workers,
        blocking_threads=threads,
        log_level=LogLevels.error,
        log_access=False,
    ).serve(target_loader=load, wrap_loader=False)


if __name__ == "__main__":
    main()
