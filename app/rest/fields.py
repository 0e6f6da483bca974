"""marshmallow fields and schemas that check the form of a request strictly.

The form is: JSON type, required, unknown, enum, id and date. Lengths, patterns and domain rules
belong to the verbs.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields

from app.core.clock import EPOCH, LATEST_MS, is_day
from app.core.errors import Details, InvalidField, RequestInvalid
from app.core.ids import as_uuid
from app.core.messages import (
    NOT_A_BOOLEAN,
    NOT_A_DATE,
    NOT_A_STRING,
    NOT_A_TIME,
    NOT_AN_ARRAY,
    NOT_AN_INTEGER,
    NOT_AN_OBJECT,
    not_one_of,
)
from app.database.pagination import DEFAULT_LIMIT
from app.rest import messages

_INTEGER = re.compile(r"(-?)([0-9]+)")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:([Zz])|([+\- ])([0-9]{2}):([0-9]{2}))"
)
# Valid integers are shorter: every number with this many digits is out of range.
_DIGITS = 18
MAX_ITEMS = 100_000


class Problem(str):
    """A message with the stable code that clients switch on."""

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, text: str, kind: str) -> "Problem":
        problem = super().__new__(cls, text)
        problem.kind = kind
        return problem


def _invalid(text: str, kind: str = "invalid_type") -> ValidationError:
    return ValidationError([Problem(text, kind)])


class _Messages:
    """Base of fields: replaces the messages that marshmallow itself reports."""

    default_error_messages: dict[str, Any] = {
        "required": Problem(messages.REQUIRED, "missing"),
        "null": Problem(messages.NULL, "invalid_type"),
    }


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(NOT_A_STRING)
    return value


class Text(_Messages, fields.String):
    """A JSON string."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        return _string(value)


class Whole(_Messages, fields.Integer):
    """A JSON integer, not a boolean or a fraction."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _invalid(NOT_AN_INTEGER)
        return value


class Flag(_Messages, fields.Boolean):
    """A JSON boolean."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise _invalid(NOT_A_BOOLEAN)
        return value


class Identifier(_Messages, fields.UUID):
    """A UUID in its usual form, loaded as lower-case text."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        canonical = as_uuid(_string(value))
        if canonical is None:
            raise _invalid(messages.NOT_A_UUID, "invalid_value")
        return canonical


class Choice(_Messages, fields.String):
    """One of a closed set of words."""

    def __init__(self, words: Iterable[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = [str(word) for word in words]
        self.metadata = {**self.metadata, "enum": self.words}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        word = _string(value)
        if word not in self.words:
            raise _invalid(not_one_of(", ".join(self.words)), "invalid_value")
        return word


class Day(_Messages, fields.Date):
    """A date such as ``2026-11-20``, loaded as text."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not is_day(_string(value)):
            raise _invalid(NOT_A_DATE, "invalid_value")
        return value


class Items(_Messages, fields.List[Any]):
    """A JSON array."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _invalid(NOT_AN_ARRAY)
        if len(value) > MAX_ITEMS:
            raise _invalid(messages.too_many(MAX_ITEMS), "too_long")
        items: list[Any] = super()._deserialize(value, attr, data, **kwargs)
        return items


class QueryInteger(Whole):
    """An integer in a query: ASCII digits only. One that is too long becomes 18 nines."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        match = _INTEGER.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise _invalid(NOT_AN_INTEGER)
        sign, digits = match[1], match[2].lstrip("0") or "0"
        return int(sign + (digits if len(digits) <= _DIGITS else "9" * _DIGITS))


class QueryFlag(Flag):
    """``true`` or ``false`` in a query."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise _invalid(NOT_A_BOOLEAN, "invalid_value")
        return bool(value == "true")


class Timestamp(_Messages, fields.DateTime):
    """A time such as ``2026-11-20T19:23:58Z``, loaded as milliseconds.

    A space before the offset is read as a plus that was not encoded. Fractions of a millisecond are
    rounded down, or up with ``round_up``.
    """

    def __init__(self, *, round_up: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.round_up = round_up

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return _milliseconds(_string(value), round_up=self.round_up)
        except ValueError as error:
            raise _invalid(NOT_A_TIME, "invalid_value") from error


def _milliseconds(text: str, *, round_up: bool) -> int:
    """Milliseconds since the epoch; raises ValueError."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, clock, fraction, utc, sign, hours, minutes = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
    offset = timedelta(0)
    if not utc:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError(text)
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    seconds = (moment - EPOCH - offset) // timedelta(seconds=1)
    nanoseconds = int((fraction or "0").ljust(9, "0"))
    moment_ms = seconds * 1000 + (-(-nanoseconds // 10**6) if round_up else nanoseconds // 10**6)
    # An offset, or rounding up, can exceed the range of times that can be shown.
    return min(max(moment_ms, 0), LATEST_MS)


class StrictSchema(Schema):
    """A schema of a request body: unknown fields are refused."""

    class Meta:
        unknown = RAISE

    error_messages = {
        "unknown": Problem(messages.NOT_KNOWN, "unknown_field"),
        "type": Problem(NOT_AN_OBJECT, "invalid_type"),
    }

    # Fields of the resource that a PATCH may not change.
    immutable: tuple[str, ...] = ()


class CreateSchema(StrictSchema):
    """A body that creates something; ``client_request_id`` is echoed and never stored."""

    client_request_id = Text(
        metadata={"description": "Echoed in the response, never stored.", "maxLength": 128}
    )


class EmptyBody(StrictSchema):
    """An operation that takes no body."""


class QuerySchema(Schema):
    """A schema of query parameters: unknown ones are ignored."""

    class Meta:
        unknown = EXCLUDE


class PageQuery(QuerySchema):
    """The parameters of every list."""

    limit = QueryInteger(
        load_default=DEFAULT_LIMIT,
        metadata={
            "description": "How many rows a page has.",
            "minimum": 1,
            "maximum": 200,
            "default": DEFAULT_LIMIT,
        },
    )
    cursor = Text(
        load_default=None, metadata={"description": "`next_cursor` of the page before this one."}
    )


class DeletedQuery(QuerySchema):
    """The parameter of endpoints whose entities are soft-deletable; humans only."""

    include_deleted = QueryFlag(
        load_default=False,
        metadata={"description": "Include deleted ones. Humans only.", "default": False},
    )


class DeletedPageQuery(PageQuery, DeletedQuery):
    """A list that may show deleted rows."""


@cache
def instance(schema: type[Schema]) -> Schema:
    """The single instance of a schema: building one costs more than using it."""
    return schema()


def load(schema: type[Schema], data: Mapping[str, Any], location: str) -> dict[str, Any]:
    """Check the form of ``data`` and load its values; ``location`` is ``body`` or ``query``.

    Raises RequestInvalid with every problem, or InvalidField for an immutable field.
    """
    if not data:
        return dict(_load_empty(schema, location))
    return _load(schema, data, location)


# Cached, as most reads send no parameters.
@cache
def _load_empty(schema: type[Schema], location: str) -> dict[str, Any]:
    return _load(schema, {}, location)


def _load(schema: type[Schema], data: Mapping[str, Any], location: str) -> dict[str, Any]:
    known = instance(schema)
    immutable = [field for field in getattr(known, "immutable", ()) if field in data]
    mutable = {key: value for key, value in data.items() if key not in immutable}
    # Limit reports: with unknown fields, a stranger could make each request expensive.
    surplus = [key for key in mutable if key not in known.fields][RequestInvalid.MAX_ERRORS :]
    for key in surplus:
        del mutable[key]
    try:
        loaded: dict[str, Any] = known.load(mutable)
    except ValidationError as error:
        raise RequestInvalid(_flatten(error.messages, [location]), len(surplus)) from error
    if immutable:
        raise InvalidField(immutable[0], "immutable", messages.immutable(immutable[0]))
    return loaded


def _flatten(problems: Any, loc: list[Any]) -> list[Details]:
    """marshmallow's nested messages as ``{loc, msg, type}``."""
    if isinstance(problems, dict):
        return [
            entry
            for key, inner in problems.items()
            for entry in _flatten(inner, loc if key == "_schema" else [*loc, key])
        ]
    return [
        {"loc": loc, "msg": str(text), "type": getattr(text, "kind", "invalid_value")}
        for text in problems
    ]
