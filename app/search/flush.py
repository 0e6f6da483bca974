"""The thread of a server process that stores in the index what was put a moment ago.

Searches then rarely find something pending, which they would have to store themselves.
"""

import logging
import threading

from flask import Flask

from app.core.context import request_id
from app.core.errors import Unavailable
from app.search import index

log = logging.getLogger(__name__)

# How long a stop waits for what is under way; nothing is lost where that takes longer.
STOP_SECONDS = 2.0


class Flusher:
    """Flushes what this process puts, soon after it, and now and then what others left."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._called = threading.Event()
        self._is_round_due = True
        self._is_failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index-flusher", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier process left."""
        index.document_put.listen(self._called.set)
        self._called.set()
        self._thread.start()

    def check(self) -> None:
        """See to what any process left, one that ended or a command."""
        self._is_round_due = True
        self._called.set()

    def stop(self) -> None:
        """End; what is still pending is stored by another, or by a search. Once is enough."""
        index.document_put.forget(self._called.set)
        self._stopping.set()
        self._called.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            pause = index.flush_delay_seconds()
            while self._called.wait() and not self._stopping.wait(pause):
                self._called.clear()
                is_round, self._is_round_due = self._is_round_due, False
                try:
                    index.flush(own=not is_round)
                    self._is_failing = False
                except Exception as error:
                    self._is_round_due = True
                    self._tell(error)

    def _tell(self, error: Exception) -> None:
        """Say that it failed, once until it works again; nothing is lost."""
        if not self._is_failing:
            is_outage = isinstance(error, Unavailable)
            log.warning("the search index cannot be flushed", exc_info=None if is_outage else error)
        self._is_failing = True
