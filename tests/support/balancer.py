"""A small load balancer: round robin over servers, skipping those that are down."""

import itertools
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

BLOCK = 65_536


class Balancer(socketserver.ThreadingTCPServer):
    """Round robin over local ports."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, ports: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.served = dict.fromkeys(ports, 0)
        self._turns = itertools.cycle(ports)
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        port: int = self.server_address[1]
        return port

    def next_server(self) -> socket.socket:
        """Connect to the next server; raises ConnectionError if none is up."""
        for _ in self.served:
            with self._lock:
                port = next(self._turns)
            with suppress(ConnectionError):
                connection = socket.create_connection(("127.0.0.1", port), timeout=20)
                with self._lock:
                    self.served[port] += 1
                return connection
        raise ConnectionError("no server is left")


class _Connection(socketserver.BaseRequestHandler):
    server: Balancer

    def handle(self) -> None:
        with suppress(ConnectionError), self.server.next_server() as behind:
            back = threading.Thread(target=_pass_on, args=(behind, self.request), daemon=True)
            back.start()
            _pass_on(self.request, behind)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Forward bytes in one direction until it is closed."""
    with suppress(OSError):
        while block := source.recv(BLOCK):
            target.sendall(block)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def balancing(ports: list[int]) -> Iterator[Any]:
    """Run a balancer for a with-statement."""
    with Balancer(ports) as balancer:
        thread = threading.Thread(target=balancer.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield balancer
        finally:
            balancer.shutdown()
            thread.join()
