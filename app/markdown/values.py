"""What goes into and comes out of laying out a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from markupsafe import Markup


class Profile(StrEnum):
    """How much of Markdown a text may use."""

    FULL = "full"
    RESTRICTED = "restricted"


@dataclass(frozen=True, slots=True)
class Links:
    """The pages and tickets that a body names, each once, in the order of their first mention.

    ``tickets`` holds display ids, from ``[[ticket:OPS-12]]`` and from a bare ``OPS-12``. A bare one
    may turn out to be no ticket at all (``UTF-8``).
    """

    slugs: tuple[str, ...] = ()
    tickets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a link leads to. Title and state are shown on hover; what is done is struck through."""

    href: str
    title: str
    state: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that leads nowhere, with the address at which a person makes the page."""

    href: str | None = None


Target = Resolved | Broken


@dataclass(frozen=True, slots=True)
class Targets:
    """What the links of a text lead to; one that is missing here is broken."""

    pages: Mapping[str, Target] = field(default_factory=dict)
    tickets: Mapping[str, Target] = field(default_factory=dict)


# Called once per text with everything it links to, so that one query can answer.
Resolver = Callable[[Links], Targets]


def nowhere(_links: Links) -> Targets:
    """The resolver for texts shown where no link can be followed."""
    return Targets()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as shown: its level (2 to 6), its text and the anchor that leads to it."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Html:
    """A text laid out.

    ``failed``: a library raised ``error`` and the source is shown instead (the caller records
    ``wiki.render_failed``). ``is_source``: the source is shown, because of that or because the
    text is too long to be laid out.
    """

    html: Markup
    headings: tuple[Heading, ...] = ()
    links: Links = Links()
    is_source: bool = False
    failed: bool = False
    error: str | None = None
