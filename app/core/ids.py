"""Ids: monotonic UUIDv7 for every row, the patterns of ids that clients send, and the request's id.

Internally, an id is a canonical lower-case string; only PostgreSQL stores it as ``uuid``.
"""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.core.clock import now_ms

UUID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Sorts below all ids; no row has it.
NIL_ID = "00000000-0000-0000-0000-000000000000"
DISPLAY_ID_PATTERN = re.compile(r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,18}")

_COUNTER_LIMIT = 1 << 12
_lock = threading.Lock()
_last_ms = 0
_counter = 0


def _tick() -> tuple[int, int]:
    """The next (millisecond, counter); grows even if the clock stops or steps back."""
    global _last_ms, _counter  # noqa: PLW0603 - the state of the process
    with _lock:
        now = now_ms()
        if now > _last_ms:
            _last_ms, _counter = now, 0
        else:
            _counter += 1
            if _counter == _COUNTER_LIMIT:
                _last_ms, _counter = _last_ms + 1, 0
        return _last_ms, _counter


def start_over() -> None:
    """Forget the ids made so far: their clock is not that of the rows."""
    global _last_ms  # noqa: PLW0603 - the state of the process
    with _lock:
        _last_ms = 0


def new_id() -> str:
    """A new UUIDv7, greater than any that this process has made."""
    millisecond, counter = _tick()
    tail = int.from_bytes(os.urandom(8)) >> 2
    digits = f"{millisecond:012x}7{counter:03x}{(0b10 << 62) | tail:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def created_ms(identifier: str) -> int:
    """The time of an id in milliseconds; equals a row's ``created_at``, so both sort alike."""
    return int(identifier[:8] + identifier[9:13], 16)


def next_above(identifier: str) -> str:
    """The lowest id greater than this one."""
    digits = f"{int(identifier.replace('-', ''), 16) + 1:032x}"[-32:]
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def id_at(moment: int) -> str:
    """The lowest id of a time in milliseconds."""
    digits = f"{max(0, moment):012x}"
    return f"{digits[:8]}-{digits[8:]}-0000-0000-000000000000"


def as_uuid(text: str) -> str | None:
    """The canonical form of a UUID of 36 characters; None for any other text."""
    lowered = text.lower()
    return lowered if UUID_PATTERN.fullmatch(lowered) else None


def is_display_id(text: str) -> bool:
    """Whether the text has the form of a ticket's display id, such as ``OPS-12``."""
    return DISPLAY_ID_PATTERN.fullmatch(text) is not None


def key_in(display_id: str) -> str:
    """The project key that a ticket's display id begins with."""
    return display_id.rpartition("-")[0]


# The id shared by all events of one request; None outside requests (commands set their own).
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


@contextmanager
def on_behalf_of(request: str | None) -> Iterator[None]:
    """Give the id of this request to events and log lines recorded meanwhile."""
    token = request_id.set(request)
    try:
        yield
    finally:
        request_id.reset(token)
