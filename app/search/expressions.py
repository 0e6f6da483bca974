"""What is looked for, as a value: terms and how they are joined. Each database renders it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Term:
    """Documents with this word or mark."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Documents with a word that begins so, behind a mark or none."""

    letters: str
    mark: str = ""
    # Words of this stem count, but need not be looked for: another expression finds them.
    stem: str | None = None

    @property
    def text(self) -> str:
        """How the term begins."""
        return self.mark + self.letters


@dataclass(frozen=True, slots=True)
class Phrase:
    """Documents with these words (two or more) one after another."""

    words: tuple[str, ...]
    # Whether the last one is only the beginning of a word.
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class All:
    """Documents that fit every part."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Documents that fit one part at least."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Documents that fit one expression and not the other."""

    wanted: "Expression"
    unwanted: "Expression"


Expression: TypeAlias = Term | Prefix | Phrase | All | Any | Without


def every(parts: Iterable[Expression]) -> Expression:
    """All parts, of which there is at least one."""
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else All(distinct)


def some(parts: Iterable[Expression]) -> Expression:
    """Any of the parts, of which there is at least one."""
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else Any(distinct)


def without(wanted: Expression, unwanted: Iterable[Expression]) -> Expression:
    """What is wanted, less each of the others."""
    distinct = tuple(dict.fromkeys(unwanted))
    return Without(wanted, some(distinct)) if distinct else wanted
