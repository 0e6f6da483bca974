"""What a bot may see and change, found out by the very code that would let it or refuse it."""

from collections.abc import Callable
from dataclasses import dataclass

from app.accounts import identity
from app.core.actor import Access, Actor, authorize, operation
from app.core.errors import DomainError
from app.core.ids import is_display_id
from app.projects import loaders as projects
from app.projects.service import KEY_PATTERN
from app.tickets import loaders as tickets
from app.wiki import loaders as wiki


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, and why, as a sentence."""

    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Tested:
    """What was asked about, in words, and the two verdicts on it."""

    what: str
    sees: Verdict
    writes: Verdict


@operation(Access.HUMAN)
def test_access(actor: Actor, bot_id: str, reference: str) -> Tested:
    """Whether a bot sees and may change a ticket, a project (by key) or a wiki page (by slug)."""
    bot, is_let_in = identity.bot_as_actor(bot_id)
    named = reference.strip()
    what, see, write = _ways(actor, bot, named)
    if not is_let_in:
        out = Verdict(False, "It has no token that lives, or is deactivated: nothing lets it in.")
        return Tested(what, out, out)
    return Tested(what, _verdict(see), _verdict(lambda: _as_writer(bot, write)))


def _ways(
    asking: Actor, bot: Actor, named: str
) -> tuple[str, Callable[[], object], Callable[[], object]]:
    """What the reference names, and the loaders that every door goes through."""
    if is_display_id(named.upper()):
        key = named.upper()
        return (
            f"Ticket {key}",
            lambda: tickets.visible(bot, key),
            lambda: tickets.writable(bot, key),
        )
    if KEY_PATTERN.fullmatch(named):
        return (
            f"Project {named}",
            lambda: projects.visible_by_key(bot, named),
            lambda: projects.writable(bot, projects.visible_by_key(bot, named).id),
        )
    return (
        f"Wiki page {named}",
        lambda: wiki.visible(bot, named),
        lambda: wiki.writable(bot, wiki.visible(asking, named).id),
    )


def _as_writer(bot: Actor, write: Callable[[], object]) -> None:
    authorize(bot, Access.WRITE)
    write()


def _verdict(attempt: Callable[[], object]) -> Verdict:
    try:
        attempt()
    except DomainError as error:
        return Verdict(False, f"{error.message} ({error.code})")
    return Verdict(True, "Its mode and its projects allow it.")
