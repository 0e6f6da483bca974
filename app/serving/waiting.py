"""Requests of one worker that wait for news (``core/waiting.py``).

They wait on the event loop, without a thread or a connection. One thread polls for new events for
all of them: at once after a commit of this process, and every POLL_SECONDS for other processes.
"""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from flask import Flask

from app.audit.service import ticket_event_committed
from app.core.actor import Actor
from app.core.errors import Unavailable
from app.core.ids import request_id
from app.core.waiting import NewsAwaited, Waiting
from app.database.session import reading
from app.inbox.awaited_news import NewsWatch
from app.serving.uploads import ClientLeft, Receive

T = TypeVar("T")

# The most waiting requests, in this process and per bot. Further ones are answered at once.
MAX_WAITING, MAX_WAITING_PER_BOT = 1_000, 16
# The most woken requests that run at the same time, so that others find a free thread.
RUNNING = 2
POLL_SECONDS = 0.5
# The shortest time between two polls, however many commits there are.
PAUSE_SECONDS = 0.1

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _WaitingRequest:
    """One waiting request; ``over`` is ALLOWED once there may be news, REFUSED at shutdown."""

    actor: Actor
    number: int
    over: asyncio.Future[Waiting]


class WaitingRequests:
    """All waiting requests of a worker. The event loop calls it; ``_watch`` runs in a thread."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._requests: dict[int, _WaitingRequest] = {}
        self._of_bot: Counter[str] = Counter()
        # Counters of requests, and of polls that found an event.
        self._last_number = self._news_count = 0
        self._is_closed = False
        self._running = asyncio.Semaphore(RUNNING)
        self._guard = threading.Lock()
        self._committed = threading.Event()
        self._needed = threading.Event()
        self._thread: threading.Thread | None = None

    async def answer(self, run: Callable[[Waiting], Awaitable[T]], receive: Receive) -> T:
        """The result of ``run``, repeated on news if it raises NewsAwaited. Raises ClientLeft."""
        news_count = self._news_count
        try:
            return await run(Waiting.ALLOWED)
        except NewsAwaited as awaited:
            actor, seconds = awaited.actor, awaited.seconds
        ends_at = asyncio.get_running_loop().time() + seconds
        while True:
            waiting = await self._news(actor, news_count, ends_at, receive)
            async with self._running:
                news_count = self._news_count
                try:
                    return await run(waiting)
                except NewsAwaited:
                    continue

    async def _news(
        self, actor: Actor, news_count: int, ends_at: float, receive: Receive
    ) -> Waiting:
        """Wait until there may be news; returns how the request is to run then."""
        loop = asyncio.get_running_loop()
        is_full = (
            len(self._requests) >= MAX_WAITING or self._of_bot[actor.id] >= MAX_WAITING_PER_BOT
        )
        if loop.time() >= ends_at:
            return Waiting.OVER
        if self._is_closed or is_full:
            return Waiting.REFUSED
        if news_count != self._news_count:
            # There was an event while the request ran.
            return Waiting.ALLOWED
        request = self._enter(actor)
        client_left = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            await asyncio.wait(
                (client_left, request.over),
                timeout=ends_at - loop.time(),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if client_left.done():
                raise ClientLeft
            return request.over.result() if request.over.done() else Waiting.OVER
        finally:
            client_left.cancel()
            self._leave(request)

    def close(self) -> None:
        """Answer every waiting request, and let no other one wait."""
        self._is_closed = True
        ticket_event_committed.forget(self._committed.set)
        self._needed.set()
        self._committed.set()
        for request in self._requests.values():
            _end(request, Waiting.REFUSED)

    def _enter(self, actor: Actor) -> _WaitingRequest:
        if self._thread is None:
            ticket_event_committed.listen(self._committed.set)
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._watch, args=(loop,), daemon=True)
            self._thread.start()
        with self._guard:
            self._last_number += 1
            over = asyncio.get_running_loop().create_future()
            request = _WaitingRequest(actor, self._last_number, over)
            self._requests[request.number] = request
        self._of_bot[actor.id] += 1
        self._needed.set()
        return request

    def _leave(self, request: _WaitingRequest) -> None:
        with self._guard:
            del self._requests[request.number]
        self._of_bot[request.actor.id] -= 1
        if not self._of_bot[request.actor.id]:
            del self._of_bot[request.actor.id]

    def _wake(self, user_ids: frozenset[str], number: int) -> None:
        """End the waits of these users, and of requests that were added after a poll began."""
        self._news_count += 1
        for request in self._requests.values():
            if request.actor.id in user_ids or request.number > number:
                _end(request, Waiting.ALLOWED)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Poll for news while requests wait."""
        with self._app.app_context():
            request_id.set(None)
            watch, is_failing = NewsWatch(), False
            while self._needed.wait() and not self._is_closed:
                self._committed.wait(POLL_SECONDS)
                self._committed.clear()
                with self._guard:
                    number = self._last_number
                    waiting = {one.actor.id: one.actor for one in self._requests.values()}
                    if not waiting:
                        # Events before the next request waits are not polled.
                        watch = NewsWatch()
                        self._needed.clear()
                        continue
                try:
                    with reading():
                        user_ids = watch.look(waiting)
                    if user_ids is not None and not self._is_closed:
                        loop.call_soon_threadsafe(self._wake, user_ids, number)
                    is_failing = False
                except Exception as error:
                    # The requests are answered when their time is over.
                    if not is_failing:
                        is_outage = isinstance(error, Unavailable)
                        log.warning("news is not found", exc_info=None if is_outage else error)
                    is_failing = True
                time.sleep(PAUSE_SECONDS)


def _end(request: _WaitingRequest, waiting: Waiting) -> None:
    if not request.over.done():
        request.over.set_result(waiting)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
