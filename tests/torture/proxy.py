"""A TCP proxy that misbehaves on demand, between the service and its dependencies."""

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

PIECE = 65_536
RESET = struct.pack("ii", 1, 0)


class Fault(StrEnum):
    """What happens to bytes in transit."""

    NONE = "none"
    # Each block is delayed by a quarter of a second.
    DELAY = "delay"
    # A few bytes at a time.
    SLICE = "slice"
    # The connection is reset in the middle of a response.
    RESET = "reset"
    # Half of a response, then an orderly close.
    TRUNCATE = "truncate"
    # Nothing gets through, and no error is reported.
    BLACK_HOLE = "black hole"
    # Nothing listens.
    REFUSE = "refuse"


@dataclass
class Proxy:
    """A listener on its own port; each connection has two threads."""

    target: tuple[str, int]
    fault: Fault = Fault.NONE
    port: int = 0
    connections: int = 0
    _open: set[socket.socket] = field(default_factory=set)

    def cut(self) -> None:
        """Reset all connections."""
        for one in list(self._open):
            _reset(one)

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            if self.fault is Fault.REFUSE:
                _reset(near)
                continue
            try:
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                _reset(near)
                continue
            self.connections += 1
            self._open |= {near, far}
            for source, sink, is_answer in ((near, far, False), (far, near, True)):
                threading.Thread(
                    target=self._pump, args=(source, sink, is_answer), daemon=True
                ).start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with suppress(OSError, ValueError):
            while True:
                select.select([source], [], [], 30)
                while self.fault is Fault.BLACK_HOLE:
                    time.sleep(0.05)
                piece = source.recv(PIECE)
                if not piece:
                    break
                if not self._forward(piece, sink, is_answer):
                    break
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self._open.discard(one)

    def _forward(self, piece: bytes, sink: socket.socket, is_answer: bool) -> bool:
        if self.fault is Fault.DELAY:
            time.sleep(0.25)
        elif self.fault is Fault.SLICE:
            for start in range(0, len(piece), 7):
                sink.sendall(piece[start : start + 7])
                time.sleep(0.0005)
            return True
        elif self.fault is Fault.RESET and is_answer:
            _reset(sink)
            return False
        elif self.fault is Fault.TRUNCATE and is_answer:
            sink.sendall(piece[: len(piece) // 2])
            return False
        sink.sendall(piece)
        return True


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def proxying(target: tuple[str, int]) -> Iterator[Proxy]:
    """Run a proxy to this address."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        made = Proxy(target, port=listener.getsockname()[1])
        threading.Thread(target=made.serve, args=(listener,), daemon=True).start()
        try:
            yield made
        finally:
            made.cut()
