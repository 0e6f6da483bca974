"""A cache for all threads of a process, limited in bytes."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """Keeps the most recently used values; their sizes add up to ``capacity`` at most."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self.size = 0

    def get(self, key: bytes) -> T | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: bytes, value: T, size: int) -> None:
        """Keep a value, unless it takes more than a quarter of the capacity."""
        if size > self._capacity // 4:
            return
        with self._lock:
            _, old_size = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size)
            self.size += size - old_size
            while self.size > self._capacity:
                _, (_, evicted_size) = self._entries.popitem(last=False)
                self.size -= evicted_size

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.size = 0

    def __len__(self) -> int:
        return len(self._entries)
