"""Receiving the body of a request: whole, within deadlines, and within MAX_REQUEST_BYTES.

A body with a file has a separate limit, and goes to disk.
"""

import asyncio
import io
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.core.errors import (
    DomainError,
    RateLimited,
    RequestTimeout,
    RequestTooLarge,
    Unavailable,
)
from app.core.messages import FILE_NOT_STORED
from app.serving.wsgi import Message

# An upload that takes longer counts as slow.
PROMPT_SECONDS = 1.0
# Deadlines for the first byte and for the last.
FIRST_BYTE_SECONDS, LAST_BYTE_SECONDS = 15.0, 60.0
# The deadline for the last byte of a body with a file, and the longest pause between its bytes.
LAST_BYTE_OF_FILE_SECONDS, IDLE_SECONDS = 600.0, 30.0
# The most bytes of a body that are kept in memory.
IN_MEMORY_BYTES = 512 * 1024
# Bytes read and discarded beyond the limit, so that the sender gets to read the response 413.
DRAINED_BYTES = 16 * 1024 * 1024

Receive = Callable[[], Awaitable[Message]]


class ClientLeft(Exception):
    """The client closed the connection before the body was complete."""


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """How long a body may be; the folder is for one with a file."""

    most_bytes: int
    folder: Path | None = None

    @property
    def last_byte_seconds(self) -> float:
        return LAST_BYTE_SECONDS if self.folder is None else LAST_BYTE_OF_FILE_SECONDS


class FailedBody(io.RawIOBase):
    """Replaces an incomplete body: reading it raises the reason."""

    def __init__(self, error: DomainError) -> None:
        self._error = error

    def seek(self, _offset: int, _whence: int = io.SEEK_SET, /) -> int:
        return 0

    def readable(self) -> bool:
        return True

    def readinto(self, _buffer: Any, /) -> int:
        raise self._error


async def receive_body(
    receive: Receive, limit: BodyLimit, count_slow: Callable[[], AbstractContextManager[None]]
) -> IO[bytes] | FailedBody:
    """The body, of which at most one byte over its limit is kept, or a FailedBody.

    The extra byte tells the application to answer 413 (``http/current.py``). ``count_slow`` is
    entered for the rest of a slow upload; it may raise RateLimited. Raises ClientLeft.
    """
    upload = _Upload(receive, limit)
    try:
        return await _receive(upload, limit, count_slow)
    except TimeoutError:
        error: DomainError = RequestTimeout()
    except (RateLimited, RequestTooLarge) as refused:
        error = refused
    except OSError:
        error = Unavailable(FILE_NOT_STORED)
    except BaseException:
        await upload.close()
        raise
    await upload.close()
    return FailedBody(error)


async def _receive(
    upload: "_Upload", limit: BodyLimit, count_slow: Callable[[], AbstractContextManager[None]]
) -> IO[bytes]:
    started = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(PROMPT_SECONDS):
            return await upload.finish()
    except TimeoutError:
        pass
    with count_slow():
        async with asyncio.timeout_at(started + FIRST_BYTE_SECONDS):
            await upload.begin()
        async with asyncio.timeout_at(started + limit.last_byte_seconds):
            return await upload.finish()


class _Upload:
    """The received part of a body; canceling a wait loses nothing."""

    def __init__(self, receive: Receive, limit: BodyLimit) -> None:
        self._receive, self._limit = receive, limit.most_bytes
        self._folder = limit.folder
        # The end of the body, in memory; the part before it is on disk.
        self._kept = io.BytesIO()
        self._on_disk: IO[bytes] | None = None
        self._writing: asyncio.Future[None] | None = None
        self._length = self._received = 0
        self._has_begun = self._is_complete = False

    async def close(self) -> None:
        """Close the file in a thread, after a running write."""
        # Closing writes the rest of the buffer, and the disk may still be full.
        with suppress(OSError):
            if self._writing is not None:
                await self._writing
        with suppress(OSError):
            if self._on_disk is not None:
                await asyncio.get_running_loop().run_in_executor(None, self._on_disk.close)

    async def begin(self) -> None:
        if not self._has_begun:
            await self._receive_part()

    async def finish(self) -> IO[bytes]:
        while not self._is_complete:
            if self._received > self._limit + DRAINED_BYTES:
                raise RequestTooLarge(self._limit)
            await self._receive_part()
        if self._on_disk is not None or self._writing is not None:
            await self._write()
        body = self._on_disk or self._kept
        body.seek(0)
        return body

    async def _receive_part(self) -> None:
        if self._folder is not None:
            if self._kept.tell() > IN_MEMORY_BYTES:
                await self._write()
            async with asyncio.timeout(IDLE_SECONDS):
                message = await self._receive()
        else:
            message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._has_begun = True
        self._received += len(message["body"])
        part = message["body"][: self._limit + 1 - self._length]
        self._kept.write(part)
        self._length += len(part)
        self._is_complete = not message.get("more_body")

    async def _write(self) -> None:
        """Move what is in memory to disk, in a thread; one write at a time."""
        while self._writing is not None or self._kept.tell():
            if self._writing is None:
                content, self._kept = self._kept.getvalue(), io.BytesIO()
                loop = asyncio.get_running_loop()
                self._writing = loop.run_in_executor(None, self._append, content)
            # If this wait is canceled, the write goes on, and the next wait finds it.
            await asyncio.shield(self._writing)
            self._writing = None

    def _append(self, content: bytes) -> None:
        if self._on_disk is None:
            self._on_disk = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - kept open
        self._on_disk.write(content)
