"""Locks to wait with: one thread waits, and another calls it."""

from threading import Lock


def uncalled() -> Lock:
    """A lock whose ``acquire`` waits until another thread releases it."""
    lock = Lock()
    lock.acquire()
    return lock
