"""The thread of a server process that moves pending search documents into the index.

Without it, each search would have to store the pending documents.
"""

import logging
import threading

from flask import Flask

from app.core.errors import Unavailable
from app.core.ids import request_id
from app.search import index

log = logging.getLogger(__name__)

# How long ``stop`` waits for a running flush; nothing is lost if that takes longer.
STOP_SECONDS = 2.0
# The pause between two merges of segments, so that other writers go first.
MERGE_SECONDS = 0.05


class Flusher:
    """Flushes what this process puts after a short delay, and all that is pending on ``check``."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._called = threading.Event()
        self._include_all = True
        self._is_failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index-flusher", daemon=True)

    def start(self) -> None:
        """Start, and flush what earlier processes left pending."""
        index.document_put.listen(self._called.set)
        self._called.set()
        self._thread.start()

    def check(self) -> None:
        """Flush what any process, such as a command or one that ended, left pending."""
        self._include_all = True
        self._called.set()

    def stop(self) -> None:
        """Stop; another process or a search flushes what is still pending. Idempotent."""
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
                include_all, self._include_all = self._include_all, False
                try:
                    is_slow = index.flush(own=not include_all)
                    while is_slow and not self._called.wait(MERGE_SECONDS):
                        is_slow = index.flush(own=False)
                    self._is_failing = False
                except Exception as error:
                    self._include_all = True
                    self._warn(error)

    def _warn(self, error: Exception) -> None:
        """Log only the first of several failures in a row; nothing is lost."""
        if not self._is_failing:
            is_outage = isinstance(error, Unavailable)
            log.warning("the search index cannot be flushed", exc_info=None if is_outage else error)
        self._is_failing = True
