"""The text of a wiki page as people see it."""

from dataclasses import dataclass

from markupsafe import Markup, escape

from app.core.actor import Actor
from app.wiki.models import WikiPage
from app.wiki.pages.blueprint import Scope


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of the table of contents."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A text laid out; ``failed`` says that it is shown as its source instead."""

    html: Markup
    contents: tuple[Heading, ...] = ()
    failed: bool = False


def rendered(actor: Actor, scope: Scope, body: str) -> Shown:
    """The text as it was typed, its line breaks kept."""
    return Shown(Markup('<div class="plain">{}</div>').format(escape(body)))


def audit_failure(actor: Actor, page: WikiPage, shown: Shown) -> None:
    """Nothing can fail in showing plain text."""
