"""A bot's actions, calls and refusals, and what it may see and change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select

from app.accounts import authentication
from app.accounts.models import User, UserType
from app.activity import messages
from app.activity.service import OK, events_json, invocation_json, list_invocations
from app.audit.event_types import Category
from app.audit.models import AuditEvent, BotUsage, ToolInvocation
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

# Rows per section of a bot's page; the logs show the rest.
MAX_ROWS = 15
MAX_HELD_TICKETS = 50
HOURS = 24
# Bots whose usage a ticket shows.
MAX_BOTS = 20
# Millionths of a dollar.
MICROS = 1_000_000
_REFUSED_EVENTS = (
    "auth.bot.failure",
    "auth.bot.write_attempt_in_read_mode",
    "auth.bot.write_attempt_outside_allowlist",
)

Check = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an access is allowed, and why, as a sentence."""

    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class Tested:
    """The tested ticket, project or page in words, and the verdicts on reading and writing."""

    what: str
    sees: Verdict
    writes: Verdict


@dataclass(frozen=True, slots=True)
class Hour:
    calls: int
    errors: int


@dataclass(frozen=True, slots=True)
class Used:
    """The usage that a bot's clients reported for its calls."""

    display_name: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_micros: int

    @property
    def cost(self) -> str:
        """The cost in dollars; empty if no call had a cost."""
        if 0 < self.cost_micros < MICROS // 100:
            return messages.LESS_THAN_A_CENT
        return f"${self.cost_micros / MICROS:,.2f}" if self.cost_micros else ""


@dataclass(frozen=True, slots=True)
class Work:
    """The recent work of a bot, newest first."""

    writes: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    held: Sequence[Any]
    # Oldest hour first.
    hours: list[Hour]
    used: Used | None

    @property
    def call_count(self) -> int:
        return sum(hour.calls for hour in self.hours)

    @property
    def error_count(self) -> int:
        return sum(hour.errors for hour in self.hours)


@operation(Access.HUMAN)
def test_access(actor: Actor, bot_id: str, reference: str) -> Tested:
    """Whether a bot may see and change a ticket, a project (by key) or a wiki page (by slug)."""
    bot, is_accepted = authentication.bot_as_actor(bot_id)
    what, see, write = _checks(actor, bot, reference.strip())
    if not is_accepted:
        out = Verdict(False, messages.NO_ACTIVE_TOKEN)
        return Tested(what, out, out)

    def write_as_bot() -> None:
        authorize(bot, Access.WRITE)
        write()

    return Tested(what, _verdict(see), _verdict(write_as_bot))


def _checks(person: Actor, bot: Actor, reference: str) -> tuple[str, Check, Check]:
    """The subject in words, and the loaders that verbs use to check reading and writing."""
    key = reference.upper()
    # A page's slug can look like a display id in lower case.
    if is_display_id(key) and (reference == key or tickets.find(key)):
        return (
            messages.ticket(key),
            lambda: tickets.visible(bot, key),
            lambda: tickets.writable(bot, key),
        )
    if KEY_PATTERN.fullmatch(reference):
        return (
            messages.project(reference),
            lambda: projects.visible_by_key(bot, reference),
            lambda: projects.writable(bot, projects.visible_by_key(bot, reference).id),
        )
    return (
        messages.wiki_page(reference),
        lambda: wiki.visible(bot, reference),
        lambda: wiki.writable(bot, wiki.visible(person, reference).id),
    )


def _verdict(check: Check) -> Verdict:
    try:
        check()
    except DomainError as error:
        return Verdict(False, messages.refused(error.message, error.code))
    return Verdict(True, messages.ALLOWED)


@operation(Access.HUMAN)
def bot_named(actor: Actor, username: str) -> User:
    """The bot with this username; raises NotFound."""
    bot = session.scalar(
        select(User).where(User.username == username.lower(), User.type == UserType.BOT.value)
    )
    if bot is None:
        raise NotFound("bot", username)
    return bot


@operation(Access.HUMAN)
def work_of(actor: Actor, bot_id: str) -> Work:
    return Work(
        writes=_events(actor, bot_id, AuditEvent.category == Category.ACTIVITY.value),
        calls=list_invocations(actor, limit=MAX_ROWS, cursor=None, bot_id=bot_id).data,
        refused=_events(actor, bot_id, AuditEvent.event_type.in_(_REFUSED_EVENTS)),
        held=stalled_bots.held_by(actor, bot_id, MAX_HELD_TICKETS),
        hours=_hours(bot_id),
        used=next(iter(_used(BotUsage.bot_user_id == bot_id, BotUsage.ticket_id.is_(None))), None),
    )


@operation(Access.HUMAN)
def used_on(actor: Actor, ticket_id: str) -> list[Used]:
    """The usage of each bot on a ticket, the most tokens first."""
    return _used(BotUsage.ticket_id == ticket_id)


def _used(*conditions: Any) -> list[Used]:
    tokens = BotUsage.input_tokens + BotUsage.output_tokens
    rows = session.execute(
        select(
            User.display_name,
            BotUsage.calls,
            BotUsage.input_tokens,
            BotUsage.output_tokens,
            BotUsage.cost_micros,
        )
        .join(User, User.id == BotUsage.bot_user_id)
        .where(*conditions)
        .order_by(tokens.desc(), BotUsage.id)
        .limit(MAX_BOTS)
    )
    return [Used(*row) for row in rows]


def _events(actor: Actor, bot_id: str, condition: Any) -> list[dict[str, Any]]:
    rows = session.scalars(
        select(AuditEvent)
        .where(AuditEvent.actor_user_id == bot_id, condition)
        .order_by(AuditEvent.created_at.desc(), AuditEvent.id.desc())
        .limit(MAX_ROWS)
    ).all()
    return events_json(rows, actor)


def _hours(bot_id: str) -> list[Hour]:
    now = now_ms()
    ago = (now - ToolInvocation.created_at) // HOUR_MS
    failed = ToolInvocation.result_status != OK
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
    hours = {int(row.ago): Hour(row.calls, int(row.errors)) for row in rows}
    return [hours.get(hour, Hour(0, 0)) for hour in reversed(range(HOURS))]


@operation(Access.HUMAN)
def first_call(actor: Actor, bot_id: str, after: str) -> dict[str, Any] | None:
    """The bot's first tool call after the time of a UUIDv7."""
    row = session.scalars(
        select(ToolInvocation)
        .where(ToolInvocation.bot_user_id == bot_id, ToolInvocation.id > after)
        .order_by(ToolInvocation.created_at, ToolInvocation.id)
        .limit(1)
    ).first()
    return invocation_json(row) if row is not None else None
