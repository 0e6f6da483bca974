"""What tools remember of a bot's reading, and say of what it has not read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.accounts import bot_reads
from app.accounts.bot_reads import Shown, mark_of, ticket_seen
from app.audit import receipts
from app.audit.receipts import Begun, VersionedKind
from app.audit.service import Recorded
from app.core.actor import Actor
from app.database.session import AnyRow
from app.http.current import current_g
from app.inbox import unread
from app.inbox.unread import Reading
from app.mcp.registry import LogWrites, ToolCall
from app.tickets import read
from app.tickets.read import FoundTicket, TicketShape
from app.wiki.models import WikiPage

SUBJECT_OF = {VersionedKind.TICKET: bot_reads.of_ticket, VersionedKind.PAGE: bot_reads.of_page}


def read_ticket(actor: Actor, reference: str) -> tuple[FoundTicket, Reading]:
    """A ticket, and what of its events is known to whoever reads it; raises NotFound or Gone."""
    ticket = read.get_ticket(actor, reference)
    reading = unread.begin_reading(actor, ticket.id)
    if reading.marks:
        # These events may be newer than what was read.
        ticket = read.get_ticket(actor, ticket.id)
    return ticket, reading


def keep(
    log_writes: LogWrites,
    reading: Reading,
    *,
    version: int | None = None,
    comments: Sequence[dict[str, Any]] | None = None,
    are_all: bool = True,
) -> None:
    """Have the log store what was read: the ticket in this version, these of its comments.

    Only who has read all comments has no unread ones.
    """
    parts = []
    if version is not None:
        parts += ticket_seen(reading.ticket_id, version)
    if comments is not None:
        marks = frozenset(mark_of(row["id"]) for row in comments)
        seen = Shown(bot_reads.of_comments(reading.ticket_id), marks=marks)
        if are_all:
            parts.append(seen)
        else:
            log_writes.append(partial(bot_reads.store, reading.user_id, seen))
    store = partial(bot_reads.store, read_at=reading.read_at, marks=reading.marks)
    log_writes.extend(partial(store, reading.user_id, one) for one in parts)


def keep_seen(log_writes: LogWrites, actor: Actor, seen: Iterable[Shown]) -> None:
    """Have the log store what an answer shows besides."""
    log_writes.extend(partial(bot_reads.store, actor.id, one) for one in seen)


def note_seen(actor: Actor, seen: Iterable[Shown]) -> None:
    """Note what a long list shows, as its rows are too many for the log."""
    current_g().bot_reads = (actor.id, list(seen))


def noting(actor: Actor, shape: TicketShape) -> TicketShape:
    """A shape of a list that notes its tickets as read."""

    def build(rows: Sequence[AnyRow]) -> list[dict[str, Any]]:
        note_seen(actor, [seen for row in rows for seen in ticket_seen(row.id, row.updated_at)])
        return shape.build(rows)

    return replace(shape, build=build)


def keep_page(log_writes: LogWrites, actor: Actor, page: WikiPage) -> None:
    """Have the log store that a page was read whole."""
    keep_seen(log_writes, actor, bot_reads.page_seen(page.id, page.revision_number))


def extend_answer(
    call: ToolCall, answer: dict[str, Any], events: Sequence[Recorded]
) -> dict[str, Any]:
    """Keep what a bot knows by its own change, and tell it what it has not read."""
    answer = add_unread(call, answer, events)
    for begun in receipts.begun_in_unit():
        _keep_change(call, answer, begun)
    return answer


def _keep_change(call: ToolCall, answer: dict[str, Any], begun: Begun) -> None:
    """Who changed the version that it had read has read the new one, and so has who is shown it."""
    kind, row, before = begun.subject.kind, begun.subject.row, begun.subject.version
    if kind is None:
        return
    after, part = getattr(row, kind), "ticket" if kind is VersionedKind.TICKET else "page"
    is_shown = call.is_full and answer.get("id") == row.id and "body" in answer
    if is_shown or (after != before and begun.receipt[part]["read"] == before):
        keep_seen(call.log_writes, call.actor, [Shown(SUBJECT_OF[kind](row.id), after)])


def add_unread(
    call: ToolCall, answer: dict[str, Any], events: Sequence[Recorded]
) -> dict[str, Any]:
    """The answer of a write, with what others did on its ticket since the bot read that."""
    ticket_id = next((one.target.ticket_id for one in events if one.target.ticket_id), None)
    if ticket_id is None or call.log_writes:
        # A call that reads, as ``next`` does, says everything itself.
        return answer
    found = unread.unread(call.actor, ticket_id)
    return {**answer, "unread": found} if found else answer
