"""Reading a tool's arguments: coerced where that is exact, refused by name where they do not fit.

Clients send ``"50"`` for 50, ``"true"`` for true and lists as JSON text, so these are understood;
``"12px"`` or 1.5 for an integer are not. An unknown argument is an error: a value that is dropped
while the write reports success is worse than a refusal.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

import orjson

from app.core.errors import Details, InvalidField, RequestInvalid
from app.mcp.parameters import DEFAULT_PAGE, LARGEST_PAGE, Parameter, ParameterKind

PLACE = "arguments"
_INTEGER = re.compile(r"-?[0-9]{1,15}")
CLEAR = "clear_fields"


class _Wrong(Exception):
    """A value of the wrong form: what it should be, and the stable word."""

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
    """The arguments by name, as the tool declares them; a cleared field is None.

    ``elsewhere`` says for arguments that this tool has not, which tool takes them. Raises
    RequestInvalid with every problem, or InvalidField for a limit out of range.
    """
    known = {parameter.name: parameter for parameter in parameters}
    names = {parameter.also: name for name, parameter in known.items() if parameter.also}
    problems: list[Details] = []
    given: dict[str, Any] = {}
    surplus = 0
    for name, value in sent.items():
        own = names.get(name, name)
        if own not in known or own in given:
            if len(problems) >= RequestInvalid.MOST:
                surplus += 1
                continue
            problems.append(_unknown(name, known, elsewhere or {}))
            continue
        try:
            _read(known[own], value, given)
        except _Wrong as error:
            problems.append(_problem(name, error.text, error.kind))
    for name in given.pop(CLEAR, None) or ():
        given[name] = None
    problems += [
        _problem(name, "This argument is required.", "missing")
        for name, parameter in known.items()
        if parameter.required and name not in given and not _was_sent(parameter, sent)
    ]
    if problems:
        raise RequestInvalid(problems, surplus)
    _check_limit(known, given)
    return given


def _was_sent(parameter: Parameter, sent: Mapping[str, Any]) -> bool:
    """Whether it is there with a value, be it a wrong one, which has its own problem."""
    value = sent.get(parameter.name, sent.get(parameter.also or ""))
    return value not in (None, "")


def _problem(name: str, text: str, kind: str) -> Details:
    return {"loc": [PLACE, name], "msg": text, "type": kind}


def _unknown(name: str, known: Mapping[str, Parameter], elsewhere: Mapping[str, str]) -> Details:
    if name in elsewhere:
        text = f"{name} is not an argument of this tool; use {elsewhere[name]}."
    else:
        allowed = ", ".join(name for name, one in known.items() if not one.hidden)
        text = f"{name} is not an argument of this tool; it takes: {allowed or 'none'}."
    return _problem(name[:128], text[:1000], "unknown_field")


def _read(parameter: Parameter, value: Any, given: dict[str, Any]) -> None:
    """Put the value into ``given``, unless it stands for nothing."""
    counts = parameter.kind is ParameterKind.BODY or (
        parameter.kind is ParameterKind.LINE and parameter.required
    )
    if value is None or (value == "" and not counts):
        if value is None and parameter.clearable:
            given[parameter.name] = None
        return
    read = _READERS[parameter.kind](value)
    for word in read if isinstance(read, list) else [read]:
        if parameter.choices and word not in parameter.choices:
            allowed = ", ".join(parameter.choices)
            raise _Wrong(f"This must be one of: {allowed}.", "invalid_value")
    given[parameter.name] = read


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong("This must be a string.")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Wrong("This must be an integer.")
    return value


def _flag(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise _Wrong("This must be true or false.")
    return value


def _list(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise _Wrong("This must be an array.") from error
    if not isinstance(value, list):
        raise _Wrong("This must be an array.")
    return value


def _texts(value: Any) -> list[str]:
    # One word instead of a list of one.
    items = [value] if isinstance(value, str) and not value.startswith("[") else _list(value)
    if not all(isinstance(item, str) for item in items):
        raise _Wrong("This must be an array of strings.")
    return items


def _edits(value: Any) -> list[dict[str, str]]:
    edits = [value] if isinstance(value, dict) else _list(value)
    for edit in edits:
        if not isinstance(edit, dict) or set(edit) != {"find", "replace"}:
            raise _Wrong("Each edit is an object with find and replace.")
        if not all(isinstance(part, str) for part in edit.values()):
            raise _Wrong("find and replace are strings.")
    return edits


def _day(value: Any) -> str:
    try:
        if date.fromisoformat(_text(value)).isoformat() != value:
            raise ValueError(value)
    except ValueError as error:
        raise _Wrong("This must be a date such as 2026-11-20.", "invalid_value") from error
    return str(value)


def _moment(value: Any) -> int:
    """Milliseconds since the epoch."""
    try:
        moment = datetime.fromisoformat(_text(value))
        if moment.tzinfo is None:
            raise ValueError(value)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise _Wrong(
            "This must be a time such as 2026-11-20T19:23:58Z.", "invalid_value"
        ) from error


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


def _check_limit(known: Mapping[str, Parameter], given: dict[str, Any]) -> None:
    """A page of a tool has 1 to 100 rows, 50 by default."""
    if "limit" not in known:
        return
    given.setdefault("limit", DEFAULT_PAGE)
    given.setdefault("cursor", None)
    if not 1 <= given["limit"] <= LARGEST_PAGE:
        raise InvalidField("limit", "out_of_range", f"limit is 1 to {LARGEST_PAGE}.")
