"""How much a test tries: a sample in every run, everything if LONG is set (``make fuzz``)."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
IS_LONG = bool(os.environ.get("LONG"))


def every(step: int, values: Sequence[T]) -> list[T]:
    """Return every ``step``-th value, starting with the first; all values if LONG is set."""
    return list(values if IS_LONG else values[::step])
