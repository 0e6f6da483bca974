"""A local server that responds, and fails, like the API of another tracker."""

import json
import ssl
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Asked:
    """A request: its path, query, headers by lower-case name, and JSON body."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


@dataclass
class Reply:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    # Sent verbatim instead of JSON.
    raw: bytes | None = None
    # The announced length, if it differs from that of the content.
    announced: int | None = None


class TrackerServer:
    """Serves ``answer``; replies in ``faults`` are sent first, one per request."""

    def __init__(self, answer: Callable[["TrackerServer", Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        self.faults: deque[Reply | None] = deque()
        # By path; they take precedence over ``answer``.
        self.files: dict[str, Reply] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def handle(self) -> None:
                # The client may be killed.
                with suppress(ConnectionError):
                    super().handle()

            def _serve(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = dict(parse_qsl(parts.query))
                asked = Asked(self.command, parts.path, query, headers, body)
                server.asked.append(asked)
                fault = server.faults.popleft() if server.faults else None
                reply = fault or server.files.get(asked.path) or answer(server, asked)
                content = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header(
                    "Content-Length",
                    str(len(content) if reply.announced is None else reply.announced),
                )
                self.end_headers()
                self.wfile.write(content)
                self.wfile.flush()
                if reply.announced is not None:
                    self.close_connection = True

            do_GET = do_POST = _serve  # noqa: N815 - names of the library

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        # The URL that it uses for itself.
        self.own_url = self.url
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def serve_tls(self, chain: Path) -> None:
        """Serve HTTPS from this call on, with this certificate and key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]


def linked_page(
    server: TrackerServer, asked: Asked, rows: list[Any], *, default_size: int = 30
) -> Reply:
    """Return a numbered page, with the ``Link`` header of GitHub and GitLab."""
    size = int(asked.query.get("per_page", default_size))
    number = int(asked.query.get("page", 1))
    chosen = rows[(number - 1) * size : number * size]
    headers = {}
    if number * size < len(rows):
        query = "&".join(
            f"{name}={value}" for name, value in {**asked.query, "page": number + 1}.items()
        )
        last = f'<{server.own_url}{asked.path}?per_page={size}&page=99>; rel="last"'
        headers["Link"] = f'<{server.own_url}{asked.path}?{query}>; rel="next", {last}'
    return Reply(chosen, headers=headers)
