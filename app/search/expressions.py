"""Search expressions: terms and how they combine. Each database renders them in its own syntax."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Term:
    """Documents with this word or mark."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Documents with a word that begins with these letters, after a mark or none."""

    letters: str
    mark: str = ""
    # Words of this stem may be left out: another expression finds them.
    stem: str | None = None

    @property
    def text(self) -> str:
        return self.mark + self.letters


@dataclass(frozen=True, slots=True)
class Phrase:
    """Documents with these words, two or more, in sequence."""

    words: tuple[str, ...]
    # Whether the last word is a prefix.
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class All:
    """Documents that match every part."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Documents that match at least one part."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Documents that match the first expression and not the second."""

    wanted: "Expression"
    unwanted: "Expression"


Expression: TypeAlias = Term | Prefix | Phrase | All | Any | Without


def every(parts: Iterable[Expression]) -> Expression:
    """All of one or more parts."""
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else All(distinct)


def some(parts: Iterable[Expression]) -> Expression:
    """Any of one or more parts."""
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else Any(distinct)


def without(wanted: Expression, unwanted: Iterable[Expression]) -> Expression:
    """The first expression minus each of the others."""
    distinct = tuple(dict.fromkeys(unwanted))
    return Without(wanted, some(distinct)) if distinct else wanted
