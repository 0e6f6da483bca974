"""Reading objects of JSON files; an error names the field, such as ``comments[2].text``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.importing import dates, messages


@dataclass(frozen=True, slots=True)
class JsonFields:
    """An object at a place in an entry. A missing field is null; all methods raise ValueError."""

    values: dict[str, Any]
    place: str = ""

    @classmethod
    def of(cls, value: Any, place: str = "") -> "JsonFields":
        if not isinstance(value, dict):
            raise _wrong(place or messages.THE_ENTRY, messages.AN_OBJECT)
        return cls(value, f"{place}." if place else "")

    def first(self, *names: str) -> str:
        """The first of these fields with a value, else the last."""
        return next((name for name in names if self.values.get(name) is not None), names[-1])

    def text(self, name: str) -> str:
        """A string without NUL; empty for null."""
        value = self.values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise _wrong(f"{self.place}{name}", messages.A_STRING)
        return value.replace("\x00", "")

    def whole(self, name: str, default: int | None = None) -> int:
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(f"{self.place}{name}", messages.AN_INTEGER)
        return value

    def time(self, name: str) -> int | None:
        """A time in milliseconds; None for null and an empty string."""
        value = self.text(name)
        try:
            return dates.moment_or_none(value)
        except (ValueError, OverflowError) as error:
            raise _wrong(f"{self.place}{name}", messages.a_time(value)) from error

    def day(self, name: str) -> str | None:
        """A day as ``2026-11-20``; None for null and an empty string."""
        value = self.text(name)
        try:
            return dates.day(value) if value else None
        except (ValueError, OverflowError) as error:
            raise _wrong(f"{self.place}{name}", messages.a_time(value)) from error

    def inner(self, name: str) -> "JsonFields | None":
        """An object; None for null."""
        value = self.values.get(name)
        return None if value is None else self.of(value, f"{self.place}{name}")

    def texts(self, name: str) -> list[str]:
        """The strings of an array."""
        found = list(self.elements(name))
        for place, value in found:
            if not isinstance(value, str):
                raise _wrong(place, messages.A_STRING)
        return [value.replace("\x00", "") for _, value in found]

    def objects(self, name: str) -> list["JsonFields"]:
        """The objects of an array."""
        return [self.of(value, place) for place, value in self.elements(name)]

    def elements(self, name: str) -> Iterator[tuple[str, Any]]:
        """The elements of an array, each with its place; none for null."""
        values = self.values.get(name)
        if not isinstance(values, list | None):
            raise _wrong(f"{self.place}{name}", messages.AN_ARRAY)
        for number, value in enumerate(values or ()):
            yield f"{self.place}{name}[{number}]", value


def _wrong(place: str, kind: str) -> ValueError:
    return ValueError(messages.must_be(place, kind))
