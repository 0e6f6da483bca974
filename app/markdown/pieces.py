"""The pieces of a text, and the patterns of lines that start one."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

# A fence; opening backticks followed by another backtick are a code span on one line.
_FENCE = re.compile(r"(`{3,}+(?=[^`]*$)|~{3,}+)[ \t]*+\{?[ \t]*+\.?([\w#+.-]{0,40})")
HEADING = re.compile(r"(#{1,6})(?:[ \t]++(.*))?$")
_HEADING_END = re.compile(r"(?<![^ \t])#++[ \t]*+$")
RULE = re.compile(r"(?:(?:-[ \t]*+){3,}|(?:_[ \t]*+){3,}|(?:\*[ \t]*+){3,})$")
UNDERLINE = re.compile(r"(?:=++|-{2,}+)[ \t]*+$")
ITEM = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?:([ \t]++)(.*)|$)")
_DEFINITION = re.compile(
    r"\[(?!\^)([^\[\]]{1,200}+)\]:[ \t]*+(?:<([^<>]{0,2000}+)>|([^\s<>]{1,2000}+))"
    r"(?:[ \t]++(?:\"([^\"]{0,500}+)\"|'([^']{0,500}+)'|\(([^()]{0,500}+)\)))?[ \t]*+$"
)
TAB = 4


class PieceKind(Enum):
    TEXT = auto()
    HEADING = auto()
    CODE = auto()
    RULE = auto()
    GAP = auto()


@dataclass(slots=True)
class Piece:
    """Lines that belong together; ``prefix`` is what the library needs before them."""

    kind: PieceKind
    prefix: str
    lines: list[str] = field(default_factory=list)
    # The prefix of further lines of a list item.
    inner: str = ""
    # For a heading.
    level: int = 0
    # For code; as typed.
    language: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """``[name]: address "title"``."""

    name: str
    address: str
    title: str


def definition(body: str) -> Definition | None:
    found = _DEFINITION.match(body)
    if found is None:
        return None
    name, angled, plain, *titles = found.groups()
    return Definition(
        name_of(name), angled if plain is None else plain, next(filter(None, titles), "")
    )


def name_of(label: str) -> str:
    """The normalized name of a definition."""
    return " ".join(label.casefold().split())


def fence(body: str) -> tuple[str, str] | None:
    """The opening fence and its language."""
    found = _FENCE.match(body)
    return (found.group(1), found.group(2)) if found else None


def closes(line: str, opening: str) -> bool:
    """Whether a line closes the code of this opening fence."""
    body = line.strip()
    return len(body) >= len(opening) and body == body[0] * len(body) and body[0] == opening[0]


def heading(body: str) -> tuple[int, str] | None:
    """The level and text of a heading."""
    found = HEADING.match(body)
    if found is None:
        return None
    return len(found.group(1)), _HEADING_END.sub("", found.group(2) or "").strip()


def indented(line: str) -> str:
    """The line with its leading tabs expanded to spaces."""
    body = line.lstrip(" \t")
    lead = line[: len(line) - len(body)]
    return lead.expandtabs(TAB) + body if "\t" in lead else line


def without_indent(line: str, columns: int) -> str:
    """The line without that many columns of leading white space; other tabs stay."""
    lead = len(line) - len(line.lstrip(" "))
    if lead >= columns or "\t" not in line[: columns + 1]:
        return line[min(lead, columns) :]
    return indented(line)[columns:] if columns else line
