"""Reading JSON strictly: what two readers could understand differently is refused.

Refused: bytes that are not UTF-8, NaN and Infinity, duplicate keys, lone surrogates, integers
beyond 2**53, nesting deeper than 32.
"""

import json
from typing import Any

MAX_DEPTH = 32
MAX_INTEGER = 1 << 53
MAX_DIGITS = 19


class JsonInvalid(ValueError):
    """The text is not JSON that Docket reads; the message is a sentence for the client."""


def loads(raw: bytes) -> Any:
    """Parse JSON; raises JsonInvalid."""
    try:
        text = raw.decode("utf-8")
        _check_depth(text)
        parsed = json.loads(
            text,
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except JsonInvalid:
        raise
    except UnicodeDecodeError as error:
        raise JsonInvalid("The body is not UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise JsonInvalid("The body is not valid JSON.") from error
    if "\\ud" in text.lower():
        _check_surrogates(parsed)
    return parsed


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise JsonInvalid("A number is out of range.")
    number = int(digits)
    if abs(number) > MAX_INTEGER:
        raise JsonInvalid("A number is out of range.")
    return number


def _constant(name: str) -> Any:
    raise JsonInvalid(f"{name} is not JSON.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonInvalid("An object has the same key twice.")
    return found


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser meets it; strings are skipped."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, inside, escaped = 0, False, False
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonInvalid("The JSON is nested too deeply.")
        elif character in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    """Refuse lone surrogates, which no database stores."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise JsonInvalid("A string holds a lone surrogate.") from error
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_surrogates(key)
            _check_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_surrogates(inner)
