"""marshmallow fields that check the form of a value strictly, and schemas that report in our words.

Only the form is judged here: JSON type, required, unknown, enum, id and date. Lengths, patterns and
rules of the domain belong to the verbs.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from marshmallow import EXCLUDE, RAISE, Schema, ValidationError, fields

from app.core.errors import Details, InvalidField, RequestInvalid
from app.core.ids import as_uuid
from app.database.pagination import DEFAULT_LIMIT

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTEGER = re.compile(r"(-?)([0-9]+)")
# No integer of ours is longer, and every one of so many digits is out of each range.
_DIGITS = 18
# No list of ours needs more.
MOST_ITEMS = 100_000


class Problem(str):
    """A message with the stable word that clients switch on."""

    __slots__ = ("kind",)
    kind: str

    def __new__(cls, text: str, kind: str) -> "Problem":
        """Make the message."""
        made = super().__new__(cls, text)
        made.kind = kind
        return made


def wrong(text: str, kind: str = "invalid_type") -> ValidationError:
    """What a field raises: the message and its stable word."""
    return ValidationError([Problem(text, kind)])


MISSING = Problem("This field is required.", "missing")
NULL = Problem("This field must not be null.", "invalid_type")
UNKNOWN = Problem("This field is not known here.", "unknown_field")
MESSAGES: dict[str, Any] = {"required": MISSING, "null": NULL}


class Text(fields.String):
    """A JSON string."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise wrong("This must be a string.")
        return value


class Whole(fields.Integer):
    """A JSON integer; booleans and fractions are none."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong("This must be an integer.")
        return value


class Flag(fields.Boolean):
    """A JSON boolean."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise wrong("This must be true or false.")
        return value


class Identifier(fields.UUID):
    """A UUID in its usual form, given on as lower-case text."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise wrong("This must be a string.")
        found = as_uuid(value)
        if found is None:
            raise wrong("This must be a UUID.", "invalid_value")
        return found


class Choice(fields.String):
    """One of a closed set of words, as a rule those of a StrEnum."""

    default_error_messages = MESSAGES

    def __init__(self, words: Iterable[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.words = [str(word) for word in words]
        self.metadata = {**self.metadata, "enum": self.words}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise wrong("This must be a string.")
        if value not in self.words:
            raise wrong(f"This must be one of: {', '.join(self.words)}.", "invalid_value")
        return value


class Day(fields.Date):
    """A date such as ``2026-11-20``, kept as text."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise wrong("This must be a string.")
        try:
            if not _DATE.fullmatch(value):
                raise ValueError(value)
            date.fromisoformat(value)
        except ValueError as error:
            raise wrong("This must be a date such as 2026-11-20.", "invalid_value") from error
        return value


class Items(fields.List[Any]):
    """A JSON array."""

    default_error_messages = MESSAGES

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise wrong("This must be an array.")
        if len(value) > MOST_ITEMS:
            raise wrong(f"This has at most {MOST_ITEMS} items.", "too_long")
        found: list[Any] = super()._deserialize(value, attr, data, **kwargs)
        return found


class QueryInteger(Whole):
    """An integer in a query: ASCII digits only. A longer one becomes the longest."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        found = _INTEGER.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise wrong("This must be an integer.")
        sign, digits = found[1], found[2].lstrip("0") or "0"
        return int(sign + (digits if len(digits) <= _DIGITS else "9" * _DIGITS))


class QueryFlag(Flag):
    """``true`` or ``false`` in a query."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if value not in ("true", "false"):
            raise wrong("This must be true or false.", "invalid_value")
        return bool(value == "true")


class StrictSchema(Schema):
    """A schema of a request body: unknown fields are refused."""

    class Meta:
        """Refuse what is not declared."""

        unknown = RAISE

    error_messages = {
        "unknown": UNKNOWN,
        "type": Problem("This must be an object.", "invalid_type"),
    }

    # Fields that the resource has and a PATCH may not change.
    immutable: tuple[str, ...] = ()


class CreateSchema(StrictSchema):
    """A body that creates something; ``client_request_id`` is echoed and never stored."""

    client_request_id = Text(
        metadata={"description": "Echoed in the answer, never stored.", "maxLength": 128}
    )


class EmptyBody(StrictSchema):
    """An operation that takes no body."""


class QuerySchema(Schema):
    """A schema of query parameters: unknown ones are ignored."""

    class Meta:
        """Ignore what is not declared."""

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
        metadata={"description": "Show deleted ones too. Humans only.", "default": False},
    )


class DeletedPageQuery(PageQuery, DeletedQuery):
    """A list that may show deleted rows."""


@cache
def instance(schema: type[Schema]) -> Schema:
    """The one instance of a schema; building it costs more than using it."""
    return schema()


def load(schema: type[Schema], data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Check the form of ``data`` (``place`` is ``body`` or ``query``) and give the values.

    Raises RequestInvalid with every problem, or InvalidField for an immutable field.
    """
    if not data:
        # Most reads name no parameters; what that comes to is known.
        return dict(_of_nothing(schema, place))
    return _loaded(schema, data, place)


@cache
def _of_nothing(schema: type[Schema], place: str) -> dict[str, Any]:
    return _loaded(schema, {}, place)


def _loaded(schema: type[Schema], data: Mapping[str, Any], place: str) -> dict[str, Any]:
    known = instance(schema)
    immutable: tuple[str, ...] = getattr(known, "immutable", ())
    named = [field for field in immutable if field in data]
    given = {key: value for key, value in data.items() if key not in named}
    # Each that is reported costs more than a stranger should be able to ask for.
    surplus = [key for key in given if key not in known.fields][RequestInvalid.MOST :]
    for key in surplus:
        del given[key]
    try:
        loaded: dict[str, Any] = known.load(given)
    except ValidationError as error:
        problems = list(_flatten(error.messages, [place]))
        raise RequestInvalid(problems, len(surplus)) from error
    if named:
        raise InvalidField(named[0], "immutable", f"{named[0]} cannot be changed.")
    return loaded


def _flatten(messages: Any, loc: list[Any]) -> list[Details]:
    """marshmallow's nested messages as ``{loc, msg, type}``."""
    if isinstance(messages, dict):
        return [
            entry
            for key, inner in messages.items()
            for entry in _flatten(inner, loc if key == "_schema" else [*loc, key])
        ]
    return [
        {"loc": loc, "msg": str(text), "type": getattr(text, "kind", "invalid_value")}
        for text in messages
    ]


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
