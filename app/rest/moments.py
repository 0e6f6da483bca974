"""Times in queries: ISO 8601 in, milliseconds out."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from marshmallow import fields

from app.rest.fields import MESSAGES, wrong

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:([Zz])|([+\- ])([0-9]{2}):([0-9]{2}))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class QueryMoment(fields.DateTime):
    """A time in a query such as ``2026-11-20T19:23:58Z``, given on in milliseconds.

    A ``+`` in a query means a space, so an offset with a space is one with a plus that was not
    encoded. Parts of a millisecond are cut off, or count as a whole one with ``round_up``.
    """

    default_error_messages = MESSAGES

    def __init__(self, *, round_up: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.round_up = round_up

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return _milliseconds(value, round_up=self.round_up)
        except ValueError as error:
            raise wrong(
                "This must be a time such as 2026-11-20T19:23:58Z.", "invalid_value"
            ) from error


def _milliseconds(text: str, *, round_up: bool) -> int:
    """Milliseconds since the epoch; raises ValueError."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    day, clock, fraction, utc, sign, hours, minutes = found.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
    offset = timedelta(0)
    if not utc:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError(text)
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    seconds = (moment - _EPOCH - offset) // timedelta(seconds=1)
    nanoseconds = int((fraction or "0").ljust(9, "0"))
    return seconds * 1000 + (-(-nanoseconds // 10**6) if round_up else nanoseconds // 10**6)
