"""Reading objects of JSON files; a problem names the field, such as ``comments[2].text``."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.importing import dates, messages
from app.importing.report import ImportReport

_DIGITS = re.compile(r"[0-9]{1,15}")
_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class JsonFields:
    """An object at a place in an entry. A missing field is null.

    So is a field that cannot be read, which is one of the entry's ``problems``.
    """

    values: dict[str, Any]
    place: str = ""
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, entry: Any) -> "JsonFields":
        """The fields of an entry; raises ValueError if it is no object."""
        if isinstance(entry, dict):
            return cls(entry)
        raise ValueError(messages.must_be(messages.THE_ENTRY, messages.AN_OBJECT))

    def note(self, report: ImportReport, where: str) -> None:
        """Note the problems of the entry."""
        for problem in self.problems:
            report.note(where, messages.FIELD_CANNOT_BE_READ, problem)

    def first(self, *names: str) -> str:
        """The first of these fields with a value, else the last."""
        return next((name for name in names if self.values.get(name) is not None), names[-1])

    def text(self, name: str) -> str:
        """A string without NUL; empty for null."""
        value = self.values.get(name)
        if not isinstance(value, str | None):
            self._must_be(name, messages.A_STRING)
            return ""
        return (value or "").replace("\x00", "")

    def whole(self, name: str) -> int | None:
        """An integer, which can be written as a string or with a fraction of zero."""
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            return int(value)
        if value is not None:
            self._must_be(name, messages.AN_INTEGER)
        return None

    def time(self, name: str) -> int | None:
        """A time in milliseconds; None for null and an empty string."""
        return self._parsed(name, dates.moment)

    def day(self, name: str) -> str | None:
        """A day as ``2026-11-20``; None for null and an empty string."""
        return self._parsed(name, dates.day)

    def inner(self, name: str, key: str = "") -> "JsonFields | None":
        """An object; with ``key``, a string is an object that has only this field."""
        return self._object(name, self.values.get(name), key)

    def objects(self, name: str, key: str = "") -> list["JsonFields"]:
        """The objects of an array, each as ``inner`` reads it."""
        values = self.values.get(name)
        if not isinstance(values, list | None):
            self._must_be(name, messages.AN_ARRAY)
            return []
        found = (
            self._object(f"{name}[{number}]", value, key)
            for number, value in enumerate(values or ())
        )
        return [one for one in found if one]

    def _object(self, name: str, value: Any, key: str) -> "JsonFields | None":
        if isinstance(value, str) and key:
            value = {key: value}
        if isinstance(value, dict) and (not key or value.get(key) is not None):
            return JsonFields(value, f"{self.place}{name}.", self.problems)
        if value is not None:
            self._must_be(name, messages.a_string_or(key) if key else messages.AN_OBJECT)
        return None

    def _parsed(self, name: str, parse: Callable[[str], _Parsed]) -> _Parsed | None:
        value = self.text(name)
        try:
            return parse(value) if value else None
        except (ValueError, OverflowError):
            self._must_be(name, messages.a_time(value))
            return None

    def _must_be(self, name: str, kind: str) -> None:
        self.problems.append(messages.must_be(f"{self.place}{name}", kind))
