"""A store of what was laid out before, bounded in bytes, for all threads of a process."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """The most recently used values whose sizes together stay within ``capacity``."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self.size = 0

    def get(self, key: bytes) -> T | None:
        """The value kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: bytes, value: T, size: int) -> None:
        """Keep a value; one that would take a quarter of the room is not worth it."""
        if size > self._capacity // 4:
            return
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = (value, size)
            self.size += size - before
            while self.size > self._capacity:
                _, (_, gone) = self._kept.popitem(last=False)
                self.size -= gone

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self.size = 0

    def __len__(self) -> int:
        return len(self._kept)
