"""The input and output values of rendering."""

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
    """The pages, tickets and users that a body names, each once, in the order of first mention.

    ``tickets`` has display ids, from ``[[ticket:OPS-12]]`` and from a bare ``OPS-12``, which may
    not be a ticket at all (``UTF-8``). ``users`` has what follows an ``@``, in lower case, which
    may be nobody's name.
    """

    slugs: tuple[str, ...] = ()
    tickets: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A user whom a text names after an ``@``."""

    display_name: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """The target of a link. Title and state are shown on hover; done ones are struck through."""

    href: str
    title: str
    state: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A link without a target, and the address at which the page can be created."""

    href: str | None = None


Target = Resolved | Broken


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a text's links, and whom it mentions; a link without a target is broken."""

    pages: Mapping[str, Target] = field(default_factory=dict)
    tickets: Mapping[str, Target] = field(default_factory=dict)
    users: Mapping[str, Mentioned] = field(default_factory=dict)


# Called once for a text with all its links, so that one query is enough.
Resolver = Callable[[Links], Targets]


def nowhere(_links: Links) -> Targets:
    """The resolver of texts whose links cannot be followed."""
    return Targets()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (2 to 6), its text and its anchor."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Html:
    """A rendered text.

    ``is_source``: the text is too long or failed, and is shown as its source. ``failed``: a library
    raised ``error``; the caller records ``wiki.render_failed``.
    """

    html: Markup
    headings: tuple[Heading, ...] = ()
    links: Links = Links()
    is_source: bool = False
    failed: bool = False
    error: str | None = None
