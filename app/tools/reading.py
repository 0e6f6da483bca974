"""What tools remember of a bot's reading, and say of what it has not read."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from app.audit.service import Recorded
from app.core.actor import Actor
from app.inbox import unread
from app.inbox.unread import Reading, ReadPart
from app.mcp.registry import ToolCall, WithLog
from app.tickets import read
from app.tickets.read import FoundTicket


def read_ticket(actor: Actor, reference: str) -> tuple[FoundTicket, Reading]:
    """A ticket, and what of its events is known to whoever reads it; raises NotFound or Gone."""
    ticket = read.get_ticket(actor, reference)
    reading = unread.begin_reading(actor, ticket.id)
    if reading.marks:
        # These events may be newer than what was read.
        ticket = read.get_ticket(actor, ticket.id)
    return ticket, reading


def keep(with_log: WithLog, reading: Reading, *parts: ReadPart) -> None:
    """Have the log store that these parts were read."""
    with_log.append(partial(unread.store, reading, parts))


def add_unread(
    call: ToolCall, answer: dict[str, Any], events: Sequence[Recorded]
) -> dict[str, Any]:
    """The answer of a write, with what others did on its ticket since the bot read that."""
    ticket_id = next((one.target.ticket_id for one in events if one.target.ticket_id), None)
    if ticket_id is None or call.with_log:
        # A call that reads, as ``next`` does, says everything itself.
        return answer
    found = unread.unread(call.actor, ticket_id)
    return {**answer, "unread": found} if found else answer
