"""Limiting the time that a connection to another server may take."""

import socket
import threading
from contextlib import suppress


class Guard:
    """Ends an attempt after ``seconds`` by shutting down its sockets."""

    def __init__(self, seconds: float) -> None:
        self.has_fired = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, connected: socket.socket) -> None:
        """Shut this connection down when time is up.

        Keeps a duplicate of the descriptor, as TLS takes over the original and may close it.
        """
        with self._lock:
            self._sockets.append(connected.dup())
            if self.has_fired:
                _shut(connected)

    def _fire(self) -> None:
        with self._lock:
            self.has_fired = True
            for connected in self._sockets:
                _shut(connected)

    def end(self) -> None:
        """Stop the timer and release the descriptors."""
        self._timer.cancel()
        with self._lock:
            for connected in self._sockets:
                connected.close()
            self._sockets.clear()


def _shut(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
