"""Strict JSON: refuses what two parsers could read differently.

That is bytes that are not UTF-8, NaN and Infinity, duplicate keys, lone surrogates, integers
beyond 2**53, and nesting deeper than 32.
"""

import json
from typing import Any

from app.core import messages

MAX_DEPTH = 32
MAX_INTEGER = 1 << 53
MAX_DIGITS = 19


class JsonInvalid(ValueError):
    """The text is not strict JSON; the message is a sentence for the client."""


def loads(raw: bytes) -> Any:
    """Parse JSON; raises JsonInvalid."""
    try:
        text = raw.decode("utf-8")
        _check_depth(text)
        parsed = _DECODER.decode(text)
    except JsonInvalid:
        raise
    except UnicodeDecodeError as error:
        raise JsonInvalid(messages.NOT_UTF8) from error
    except (ValueError, RecursionError) as error:
        raise JsonInvalid(messages.NOT_JSON) from error
    if "\\ud" in text.lower():
        _check_surrogates(parsed)
    return parsed


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JsonInvalid(messages.NUMBER_OUT_OF_RANGE)
    number = int(digits)
    if abs(number) > MAX_INTEGER:
        raise JsonInvalid(messages.NUMBER_OUT_OF_RANGE)
    return number


def _constant(name: str) -> Any:
    raise JsonInvalid(messages.no_valid_json(name))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        raise JsonInvalid(messages.DUPLICATE_KEY)
    return parsed


# Created once, as that takes longer than parsing most bodies.
_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object)


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser recurses; brackets in strings do not count."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, in_string, is_escaped = 0, False, False
    for character in text:
        if in_string:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonInvalid(messages.NESTED_TOO_DEEPLY)
        elif character in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    """Refuse lone surrogates, which the databases cannot store."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise JsonInvalid(messages.LONE_SURROGATE) from error
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_surrogates(key)
            _check_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_surrogates(inner)
