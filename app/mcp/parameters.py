"""The parameters of tools: one record documents a parameter and defines how its value is read.

The published schemas have plain single types only: several clients refuse the whole list of tools
for ``anyOf`` or a union with null. A field is cleared through ``clear_fields`` or by a plain null.

Values are coerced if that is exact, as clients send ``"50"`` for 50, ``"true"`` for true and lists
as JSON text. Anything else is refused by name, and so is an unknown argument: a write that drops a
value and reports success is worse than a refusal.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from typing import Any

import orjson

from app.core import messages as core_messages
from app.core.errors import Details, InvalidField, RequestInvalid
from app.mcp import messages

MAX_PAGE_SIZE = 100
DEFAULT_PAGE = 50
CLEAR_FIELDS = "clear_fields"
_INTEGER = re.compile(r"-?[0-9]{1,15}")


class ParameterKind(StrEnum):
    """The type of a value."""

    TEXT = "text"
    # A title or search words: if required, an empty string counts as blank, not absent.
    LINE = "line"
    # Text that is kept as sent; an empty string counts.
    BODY = "body"
    INTEGER = "integer"
    FLAG = "flag"
    TEXTS = "texts"
    DAY = "day"
    MOMENT = "moment"
    EDITS = "edits"
    # A list of objects whose fields are parameters.
    OBJECTS = "objects"


_STRING = {"type": "string"}
_TYPES: dict[ParameterKind, dict[str, Any]] = {
    ParameterKind.TEXT: _STRING,
    ParameterKind.LINE: _STRING,
    ParameterKind.BODY: _STRING,
    ParameterKind.INTEGER: {"type": "integer"},
    ParameterKind.FLAG: {"type": "boolean"},
    ParameterKind.TEXTS: {"type": "array", "items": _STRING},
    ParameterKind.DAY: _STRING,
    ParameterKind.MOMENT: _STRING,
    ParameterKind.EDITS: {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"find": _STRING, "replace": _STRING},
            "required": ["find", "replace"],
        },
    },
    ParameterKind.OBJECTS: {"type": "array"},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    description: str
    kind: ParameterKind
    required: bool = False
    # Published as required; if it is missing, the tool itself reports the error.
    expected: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    default: Any = None
    # Whether null, or its name in ``clear_fields``, clears the field.
    clearable: bool = False
    # The name of the same field in REST, accepted too.
    alias: str | None = None
    # Accepted, but not published.
    hidden: bool = False
    # The fields of the objects in a list.
    fields: tuple["Parameter", ...] = ()
    # Converts a text, such as an address, to the name that it means.
    meaning: Callable[[str], str] = str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        schema: dict[str, Any] = {**_TYPES[self.kind]}
        if self.description:
            schema["description"] = self.description
        if self.fields:
            schema["items"] = _object_schema(self.fields)
        if self.choices and self.kind is ParameterKind.TEXTS:
            schema["items"] = {"type": "string", "enum": list(self.choices)}
        elif self.choices:
            schema["enum"] = list(self.choices)
        limits = {"maximum": self.maximum, "default": self.default}
        return schema | {key: value for key, value in limits.items() if value is not None}


text = partial(Parameter, kind=ParameterKind.TEXT)
line = partial(Parameter, kind=ParameterKind.LINE)
body = partial(Parameter, kind=ParameterKind.BODY)
integer = partial(Parameter, kind=ParameterKind.INTEGER)
flag = partial(Parameter, kind=ParameterKind.FLAG)
texts = partial(Parameter, kind=ParameterKind.TEXTS)
day = partial(Parameter, kind=ParameterKind.DAY)
moment = partial(Parameter, kind=ParameterKind.MOMENT)
edits = partial(Parameter, kind=ParameterKind.EDITS)
objects = partial(Parameter, kind=ParameterKind.OBJECTS)


def choice(name: str, words: Any, description: str, **options: Any) -> Parameter:
    """A parameter that takes one of a closed set of words."""
    choices = tuple(str(word) for word in words)
    return text(name, description, choices=choices, **options)


def clear_fields(*names: str) -> Parameter:
    """The parameter that names the fields to empty."""
    return texts(CLEAR_FIELDS, "Fields to empty.", choices=names)


def needed(parameter: Parameter) -> Parameter:
    """The same parameter, required."""
    return replace(parameter, required=True)


LIMIT = integer("limit", "Rows.", minimum=1, maximum=MAX_PAGE_SIZE)
CURSOR = text("cursor", "page.next_cursor.")
PAGE = (LIMIT, CURSOR)
INCLUDE_BODY = flag("include_body", "Add the texts.")
IDEMPOTENCY_KEY = text("idempotency_key", "Makes repeats safe.")
# Echoed and never stored, as in REST. Hidden, as few agents need it.
CLIENT_REQUEST_ID = text("client_request_id", "Echoed in the result.", hidden=True)
# The parameters of tools that create something which must not be created twice.
CREATE_ONCE = (IDEMPOTENCY_KEY, CLIENT_REQUEST_ID)
IF_MATCH = text("if_match", "The etag you read.", alias="expected_etag")
EDITS = edits("edits", "Instead of body; each find occurs once.")


def input_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    return _object_schema(parameters) | {"additionalProperties": False}


def _object_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    published = [parameter for parameter in parameters if not parameter.hidden]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in published},
    }
    required = [one.name for one in published if one.required or one.expected]
    if required:
        schema["required"] = required
    return schema


class _InvalidArgument(Exception):
    """A value does not fit: a sentence for the agent, and the stable code of the problem."""

    def __init__(self, text: str, kind: str = "invalid_type") -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind


def load(
    parameters: Iterable[Parameter],
    sent: Mapping[str, Any],
    *,
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Read the arguments of a call, by parameter name; a cleared field is None.

    ``elsewhere`` maps arguments that this tool does not take to the tool that does. Raises
    RequestInvalid with every problem, or InvalidField for a limit out of range.
    """
    known = {parameter.name: parameter for parameter in parameters}
    by_alias = {parameter.alias: name for name, parameter in known.items() if parameter.alias}
    problems: list[Details] = []
    arguments: dict[str, Any] = {}
    surplus = 0
    for sent_name, value in sent.items():
        name = by_alias.get(sent_name, sent_name)
        if name not in known or name in arguments:
            if len(problems) >= RequestInvalid.MAX_ERRORS:
                surplus += 1
            else:
                problems.append(_unknown(sent_name, known, elsewhere or {}))
            continue
        try:
            _read(known[name], value, arguments)
        except _InvalidArgument as error:
            problems.append(_problem(sent_name, error.text, error.kind))
        except RequestInvalid as error:
            problems += error.errors
    for name in arguments.pop(CLEAR_FIELDS, None) or ():
        arguments[name] = None
    problems += [
        _missing(name)
        for name, parameter in known.items()
        if parameter.required and name not in arguments and not _was_sent(parameter, sent)
    ]
    if problems:
        raise RequestInvalid(problems, surplus)
    _check_limit(known, arguments)
    return arguments


def _was_sent(parameter: Parameter, sent: Mapping[str, Any]) -> bool:
    """Whether it was sent with a value; a wrong value is a separate problem."""
    value = sent.get(parameter.name, sent.get(parameter.alias or ""))
    return value not in (None, "")


def _problem(name: str, text: str, kind: str) -> Details:
    return {"loc": ["arguments", name], "msg": text, "type": kind}


def _missing(name: str) -> Details:
    return _problem(name, messages.ARGUMENT_REQUIRED, "missing")


def raise_missing(name: str) -> None:
    """Raise RequestInvalid for an argument that only some calls can omit."""
    raise RequestInvalid([_missing(name)])


def _unknown(name: str, known: Mapping[str, Parameter], elsewhere: Mapping[str, str]) -> Details:
    if name in elsewhere:
        text = messages.use_instead(name, elsewhere[name])
    else:
        allowed = ", ".join(name for name, parameter in known.items() if not parameter.hidden)
        text = messages.takes(name, allowed or "none")
    return _problem(name[:128], text[:1000], "unknown_field")


def raise_unknown(elsewhere: Mapping[str, str]) -> None:
    """Raise RequestInvalid for arguments that do not fit this call, with what to use instead."""
    if elsewhere:
        raise RequestInvalid(
            [
                _problem(name, messages.use_in_this_call(name, use), "unknown_field")
                for name, use in elsewhere.items()
            ]
        )


def _check_limit(known: Mapping[str, Parameter], arguments: dict[str, Any]) -> None:
    if "limit" not in known:
        return
    arguments.setdefault("limit", DEFAULT_PAGE)
    arguments.setdefault("cursor", None)
    minimum = known["limit"].minimum or 0
    if not minimum <= arguments["limit"] <= MAX_PAGE_SIZE:
        raise InvalidField("limit", "out_of_range", messages.limit_range(minimum, MAX_PAGE_SIZE))


def _read(parameter: Parameter, value: Any, arguments: dict[str, Any]) -> None:
    """Put the value into ``arguments``, unless it counts as absent."""
    empty_counts = parameter.kind is ParameterKind.BODY or (
        parameter.kind is ParameterKind.LINE and parameter.required
    )
    if value is None or (value == "" and not empty_counts):
        if value is None and parameter.clearable:
            arguments[parameter.name] = None
        return
    if parameter.fields:
        arguments[parameter.name] = _objects(parameter, value)
        return
    read = _READERS[parameter.kind](value)
    for word in read if isinstance(read, list) else [read]:
        if parameter.choices and word not in parameter.choices:
            allowed = ", ".join(parameter.choices)
            raise _InvalidArgument(core_messages.not_one_of(allowed), "invalid_value")
    arguments[parameter.name] = parameter.meaning(read) if isinstance(read, str) else read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _InvalidArgument(core_messages.NOT_A_STRING)
    return value


def _integer(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _InvalidArgument(core_messages.NOT_AN_INTEGER)
    return value


def _flag(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _InvalidArgument(core_messages.NOT_A_BOOLEAN)
    return value


def _list(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise _InvalidArgument(core_messages.NOT_AN_ARRAY) from error
    if not isinstance(value, list):
        raise _InvalidArgument(core_messages.NOT_AN_ARRAY)
    return value


def _texts(value: Any) -> list[str]:
    # A single string means a list of one.
    items = [value] if isinstance(value, str) and not value.startswith("[") else _list(value)
    if not all(isinstance(item, str) for item in items):
        raise _InvalidArgument(messages.NOT_STRINGS)
    return items


def _edits(value: Any) -> list[dict[str, str]]:
    edits = [value] if isinstance(value, dict) else _list(value)
    for edit in edits:
        if not isinstance(edit, dict) or set(edit) != {"find", "replace"}:
            raise _InvalidArgument(messages.NOT_AN_EDIT)
        if not all(isinstance(part, str) for part in edit.values()):
            raise _InvalidArgument(messages.EDIT_NOT_STRINGS)
    return edits


def _objects(parameter: Parameter, value: Any) -> list[dict[str, Any]]:
    """The arguments of each object; raises RequestInvalid with the location of each problem."""
    read: list[dict[str, Any]] = []
    problems: list[Details] = []
    for number, item in enumerate(_list(value)):
        place = f"{parameter.name}[{number}]"
        if not isinstance(item, dict):
            problems.append(_problem(place, core_messages.NOT_AN_OBJECT, "invalid_type"))
            continue
        try:
            read.append(load(parameter.fields, item))
        except RequestInvalid as error:
            problems += [
                {**problem, "loc": ["arguments", f"{place}.{problem['loc'][-1]}"]}
                for problem in error.errors
            ]
        if len(problems) > RequestInvalid.MAX_ERRORS:
            break
    if problems:
        raise RequestInvalid(problems)
    return read


def _day(value: Any) -> str:
    try:
        if date.fromisoformat(_text(value)).isoformat() != value:
            raise ValueError(value)
    except ValueError as error:
        text = core_messages.NOT_A_DATE
        raise _InvalidArgument(text, "invalid_value") from error
    return str(value)


def _moment(value: Any) -> int:
    """Milliseconds since the epoch; a date is its first millisecond in UTC."""
    try:
        day = f"{value}T00:00:00Z" if isinstance(value, str) and len(value) == 10 else value
        moment = datetime.fromisoformat(_text(day))
        if moment.tzinfo is None:
            raise ValueError(value)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        text = core_messages.NOT_A_TIME
        raise _InvalidArgument(text, "invalid_value") from error


_READERS: dict[ParameterKind, Callable[[Any], Any]] = {
    ParameterKind.TEXT: _text,
    ParameterKind.LINE: _text,
    ParameterKind.BODY: _text,
    ParameterKind.INTEGER: _integer,
    ParameterKind.FLAG: _flag,
    ParameterKind.TEXTS: _texts,
    ParameterKind.DAY: _day,
    ParameterKind.MOMENT: _moment,
    ParameterKind.EDITS: _edits,
}
