"""What a bot did, called and was refused, and what it may see and change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select

from app.accounts import identity
from app.accounts.models import User, UserType
from app.activity import tool_log
from app.activity.service import events_json
from app.audit.catalogue import Category
from app.audit.models import AuditEvent, ToolInvocation
from app.core.actor import Access, Actor, authorize, operation
from app.core.clock import HOUR_MS, now_ms
from app.core.errors import DomainError, NotFound
from app.core.ids import is_display_id
from app.database.session import session
from app.projects import loaders as projects
from app.projects.service import KEY_PATTERN
from app.tickets import loaders as tickets
from app.tickets import stalled_bots
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


# Rows of each section; the logs have all of them.
SHOWN = 15
HELD = 50
HOURS = 24
_REFUSED_EVENTS = (
    "auth.bot.failure",
    "auth.bot.write_attempt_in_read_mode",
    "auth.bot.write_attempt_outside_allowlist",
)


@dataclass(frozen=True, slots=True)
class Hour:
    """Calls and errors of one hour of the last day."""

    calls: int
    errors: int


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that the page of a bot shows of what it does."""

    writes: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    held: Sequence[Any]
    # The oldest hour first.
    hours: list[Hour]

    @property
    def call_count(self) -> int:
        """Calls in the last day."""
        return sum(hour.calls for hour in self.hours)

    @property
    def error_count(self) -> int:
        """Calls in the last day that ended in an error."""
        return sum(hour.errors for hour in self.hours)


@operation(Access.HUMAN)
def bot_named(actor: Actor, username: str) -> User:
    """The bot of this username; raises NotFound."""
    found = session.scalar(
        select(User).where(User.username == username.lower(), User.type == UserType.BOT.value)
    )
    if found is None:
        raise NotFound("bot", username)
    return found


@operation(Access.HUMAN)
def work_of(actor: Actor, bot_id: str) -> Work:
    """What this bot does, the newest first."""
    calls = tool_log.list_invocations(actor, limit=SHOWN, cursor=None, bot_id=bot_id).data
    return Work(
        writes=_events(actor, bot_id, AuditEvent.category == Category.ACTIVITY.value),
        calls=calls,
        refused=_events(actor, bot_id, AuditEvent.event_type.in_(_REFUSED_EVENTS)),
        held=stalled_bots.held_by(actor, bot_id, HELD),
        hours=_hours(bot_id),
    )


def _events(actor: Actor, bot_id: str, condition: Any) -> list[dict[str, Any]]:
    rows = session.scalars(
        select(AuditEvent)
        .where(AuditEvent.actor_user_id == bot_id, condition)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(SHOWN)
    ).all()
    return events_json(rows, actor)


def _hours(bot_id: str) -> list[Hour]:
    now = now_ms()
    ago = (now - ToolInvocation.created_at) // HOUR_MS
    failed = ToolInvocation.result_status != tool_log.OK
    rows = session.execute(
        select(
            ago.label("ago"),
            func.count().label("calls"),
            func.sum(case((failed, 1), else_=0)).label("errors"),
        )
        .where(
            ToolInvocation.bot_user_id == bot_id,
            ToolInvocation.created_at > now - HOURS * HOUR_MS,
            ToolInvocation.created_at <= now,
        )
        .group_by("ago")
    )
    found = {int(row.ago): Hour(row.calls, int(row.errors)) for row in rows}
    return [found.get(hour, Hour(0, 0)) for hour in reversed(range(HOURS))]


@operation(Access.HUMAN)
def first_call(actor: Actor, bot_id: str, after: str) -> dict[str, Any] | None:
    """The first call of a tool by the bot after this event of the log, if there is one yet."""
    row = session.scalars(
        select(ToolInvocation)
        .where(ToolInvocation.bot_user_id == bot_id, ToolInvocation.id > after)
        .order_by(ToolInvocation.created_at, ToolInvocation.id)
        .limit(1)
    ).first()
    return tool_log.invocation_json(row) if row is not None else None
