"""How much a test tries: a part in every run, all of it where LONG is set (``make fuzz``)."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
IS_LONG = bool(os.environ.get("LONG"))


def every(step: int, values: Sequence[T]) -> list[T]:
    """Every so many of the values, the first among them."""
    return list(values if IS_LONG else values[::step])
