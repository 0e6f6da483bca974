"""Receiving the body of a request: whole, within deadlines, and within MAX_REQUEST_BYTES."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from app.core.errors import DomainError, RateLimited, RequestTimeout, RequestTooLarge
from app.serving.wsgi import Message

# An upload that takes longer counts as slow.
PROMPT_SECONDS = 1.0
# Deadlines for the first byte and for the last.
FIRST_BYTE_SECONDS, LAST_BYTE_SECONDS = 15.0, 60.0
# Read and discarded beyond the limit, so that the sender gets to read the answer 413.
DRAINED_BYTES = 16 * 1024 * 1024

Receive = Callable[[], Awaitable[Message]]


class ClientLeft(Exception):
    """The client closed the connection before the body was complete."""


class FailedBody(io.RawIOBase):
    """Stands for an incomplete body: reading it raises the reason."""

    def __init__(self, error: DomainError) -> None:
        self._error = error

    def seek(self, _offset: int, _whence: int = io.SEEK_SET, /) -> int:
        return 0

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any, /) -> int:
        raise self._error


async def receive_body(
    receive: Receive, limit: int, count_slow: Callable[[], AbstractContextManager[None]]
) -> io.IOBase:
    """The body, of which at most ``limit`` + 1 bytes are kept, or a FailedBody.

    The extra byte tells the application to answer 413 (``http/current.py``). ``count_slow`` is
    entered for the rest of a slow upload; it may raise RateLimited. Raises ClientLeft.
    """
    upload = _Upload(receive, limit)
    started = asyncio.get_running_loop().time()
    try:
        try:
            async with asyncio.timeout(PROMPT_SECONDS):
                return await upload.finish()
        except TimeoutError:
            pass
        with count_slow():
            async with asyncio.timeout_at(started + FIRST_BYTE_SECONDS):
                await upload.begin()
            async with asyncio.timeout_at(started + LAST_BYTE_SECONDS):
                return await upload.finish()
    except TimeoutError:
        return FailedBody(RequestTimeout())
    except (RateLimited, RequestTooLarge) as error:
        return FailedBody(error)


class _Upload:
    """What was received; a wait that is cancelled loses nothing."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self._kept = io.BytesIO()
        self._received = 0
        self._has_begun = self._is_complete = False

    async def begin(self) -> None:
        if not self._has_begun:
            await self._receive_part()

    async def finish(self) -> io.BytesIO:
        while not self._is_complete:
            if self._received > self._limit + DRAINED_BYTES:
                raise RequestTooLarge(self._limit)
            await self._receive_part()
        self._kept.seek(0)
        return self._kept

    async def _receive_part(self) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._has_begun = True
        self._received += len(message["body"])
        self._kept.write(message["body"][: self._limit + 1 - self._kept.tell()])
        self._is_complete = not message.get("more_body")
