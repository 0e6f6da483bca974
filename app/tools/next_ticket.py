"""Getting work: ``update_ticket`` with the ticket ``next``."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.inbox.unread import begin_reading
from app.mcp.parameters import choice, raise_unknown, text
from app.mcp.registry import ToolCall
from app.tickets import claiming, comments, service
from app.tickets.models import TicketType
from app.tools import lean, messages, naming, resources
from app.tools.naming import STATE
from app.tools.reading import keep
from app.tools.ticket_fields import ticket_json

# As ``ticket`` of update_ticket: the best ready ticket, narrowed down by the rest.
NEXT = "next"
NEXT_ONLY = (
    choice("type", (TicketType.STORY, TicketType.SUBTASK), "With next."),
    text("label", "With next.", alias="label_id"),
    replace(STATE, description="With next."),
)
ELSEWHERE = {
    "state": "transition_ticket",
    "comment": "add_comment",
    "type": messages.CREATE_TICKET_INSTEAD,
}
# When to ask again after nothing was ready.
RETRY_SECONDS = 60
COMMENTS_SHOWN = 5


def is_next(call: ToolCall) -> bool:
    return str(call["ticket"]).lower() == NEXT


def shorten_update(
    call: ToolCall, answer: dict[str, Any], shown: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The ticket ``next`` is answered whole, as its claimer has not read it."""
    return shown() if is_next(call) else lean.changed(call, answer, shown())


def refuse_next_only(call: ToolCall) -> None:
    """Raise RequestInvalid for arguments that only go with ``next``."""
    raise_unknown(
        {
            parameter.name: ELSEWHERE.get(parameter.name, messages.ONLY_WITH_NEXT)
            for parameter in NEXT_ONLY
            if parameter.name in call.arguments
        }
    )


def claim_next(call: ToolCall) -> dict[str, Any]:
    """Claim the best ready ticket, and move it if ``state`` is given."""
    actor = call.actor
    given = {name: value for name, value in call.arguments.items() if value is not None}
    surplus = given.keys() - {"ticket", "project", "type", "label", "priority", "assignee", "state"}
    raise_unknown(dict.fromkeys(sorted(surplus), messages.ONCE_YOU_HAVE_THE_TICKET))
    project_id = None
    if "project" in given:
        project_id = naming.project(actor, given["project"], writing=True).id
    narrowed: dict[str, Any] = {"project_id": project_id} if project_id else {}
    narrowed |= {
        name: given[argument]
        for argument, name in (("type", "ticket_type"), ("priority", "priority"))
        if argument in given
    }
    if "label" in given:
        narrowed["label_id"] = naming.labels_named(actor, given["label"], project_id)
    assignee = naming.user_id(actor, given.get("assignee", naming.ME), "assignee")
    ticket = claiming.claim_next(actor, assignee_user_id=assignee, **narrowed)
    if ticket is None:
        return {
            "ticket": None,
            "message": messages.NOTHING_READY,
            "retry_after_seconds": RETRY_SECONDS,
        }
    reading = begin_reading(actor, ticket.id)
    if "state" in given:
        state_id = naming.state_id(ticket.project_id, given["state"])
        service.transition_ticket(actor, ticket, state_id=state_id)
    shown = comments.newest(ticket.id, COMMENTS_SHOWN)
    keep(
        call.log_writes,
        reading,
        version=ticket.updated_at,
        comments=shown,
        are_all=len(shown) < COMMENTS_SHOWN,
    )
    return {
        **ticket_json(ticket),
        "comments": shown,
        **resources.guide_of(ticket.project_id),
    }
