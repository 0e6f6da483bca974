"""A thread that settles what requests left to be written, if no other request did so meanwhile."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from app.core.held import Settles

# Between two looks at whether the writer is done: as long as a short write takes.
NAP_SECONDS = 0.0005
# At the first look after so long it waits in line with all other writers.
PATIENCE_SECONDS = 0.005
# After what should not have happened.
PAUSE_SECONDS = 0.1

log = logging.getLogger(__name__)


class Settler:
    """Whom requests call that leave something."""

    def __init__(self, within: Callable[[], AbstractContextManager[None]]) -> None:
        """``within`` is where it works: it takes turns with the requests."""
        self._within = within
        self._called = threading.Event()
        self._guard = threading.Lock()
        self._left: set[Settles] = set()
        threading.Thread(target=self._run, name="settler", daemon=True).start()

    def call(self, left: Settles) -> None:
        """See to this."""
        with self._guard:
            self._left.add(left)
        self._called.set()

    def _run(self) -> None:
        while True:
            self._called.wait()
            self._called.clear()
            with self._guard:
                left, self._left = self._left, set()
            for one in left:
                self._see_to(one)

    def _see_to(self, one: Settles) -> None:
        since, is_settled = time.monotonic(), False
        while not is_settled:
            time.sleep(NAP_SECONDS)
            waits = time.monotonic() - since > PATIENCE_SECONDS
            try:
                is_settled = one.settle(self._within, waits=waits)
            except Exception:
                # Answers wait for this thread, so it goes on.
                log.exception("what requests left could not be settled")
                time.sleep(PAUSE_SECONDS)
