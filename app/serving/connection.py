"""A client's connection: uvicorn's HTTP protocol with limits on connections and request heads."""

import socket
from asyncio import TimerHandle, Transport
from collections import Counter
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.core.errors import RequestMalformed
from app.serving.asgi import refusal
from app.serving.client_limits import UNREAD_SECONDS

# The time for a client to send a request head; also how long an idle connection is kept.
HEAD_SECONDS = 20
HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """A connection whose client has HEAD_SECONDS and HEAD_BYTES for the head of a request."""

    # The most connections of this worker, including idle ones; at most half from one address.
    limit: ClassVar[int]
    # Behind a proxy all connections come from one address.
    is_behind_proxy: ClassVar[bool]
    by_address: ClassVar[Counter[str]] = Counter()

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.head_bytes = 0
        self.error = RequestMalformed()
        self.head_timer: TimerHandle | None = None
        self.address = self.client[0] if self.client else ""
        self.by_address[self.address] += 1
        if len(self.connections) > self.limit or (
            self.by_address[self.address] > self.limit // 2 and not self.is_behind_proxy
        ):
            transport.abort()
            return
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # The system ends a connection whose peer does not take what is sent to it.
            transport.get_extra_info("socket").setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNREAD_SECONDS * 1000)
            )
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self.by_address[self.address] -= 1
        if self.by_address[self.address] <= 0:
            del self.by_address[self.address]
        if self.head_timer is not None:
            self.head_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        super().data_received(data)

    def on_message_begin(self) -> None:
        self.head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(url, HTTPStatus.REQUEST_URI_TOO_LONG)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(name + value, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request with the error envelope, and close."""
        response = refusal(self.error)
        head = "".join(f"{name}: {value}\r\n" for name, value in response.headers)
        self.transport.write(
            b"".join([STATUS_LINE[response.status], head.encode(), b"\r\n", response.body])
        )
        self.transport.close()

    def _await_head(self) -> None:
        self.head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _count(self, part: bytes, status: HTTPStatus) -> None:
        """Count a part of the head; an error here has uvicorn call ``send_400_response``."""
        # Each line also has a separator and a line break, four bytes in total.
        self.head_bytes += len(part) + 4
        if self.head_bytes > HEAD_BYTES:
            self.error = RequestMalformed(status)
            raise self.error
