"""Telling a thread of this process, right after a commit, that there is something to do."""

from collections.abc import Callable

from app.database import session


class Bell:
    """Rung once a transaction has committed; calls whoever listens."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, act: Callable[[], None]) -> None:
        """Call this each time; it must not wait for anything."""
        self._listeners.append(act)

    def forget(self, act: Callable[[], None]) -> None:
        """Stop calling it, if it is called."""
        if act in self._listeners:
            self._listeners.remove(act)

    def ring(self) -> None:
        """Call all who listen, now."""
        for act in tuple(self._listeners):
            act()

    def ring_after_commit(self) -> None:
        """Ring once the transaction at hand has committed; not if it fails."""
        session.after_commit(self.ring)
