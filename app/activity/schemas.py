"""Shapes of audit events and the filters of the log."""

from typing import Any, ClassVar

from marshmallow import Schema

from app.accounts.schemas import UserSummaryOut
from app.activity.tool_log import ERROR, OK
from app.audit.catalogue import EVENTS, Category
from app.core.actor import ActorKind
from app.rest import samples
from app.rest.examples import like
from app.rest.fields import Choice, Identifier, PageQuery, Text, Whole
from app.rest.moments import QueryMoment
from app.rest.shapes import Anything, Nested, Stamp

KINDS = [kind.value for kind in ActorKind if kind is not ActorKind.ANONYMOUS]


MOVED = {
    "from_state_id": samples.STATE,
    "from_state_name": "In progress",
    "to_state_id": samples.NEXT_STATE,
    "to_state_name": "In review",
}


class AuditEventOut(Schema):
    """Something that happened: who did what to which target.

    The form of `payload` follows from `event_type`.
    """

    # Generators of clients take a union right in an allOf for the whole of the event.
    refined: ClassVar[dict[str, Any]] = {
        "allOf": [{"anyOf": [{"$ref": "#/components/schemas/AuditEventPayload"}]}]
    }

    id = Identifier(required=True, metadata=like(samples.EVENT))
    workspace_id = Identifier(required=True, metadata=like(samples.WORKSPACE))
    category = Choice(Category, required=True, metadata=like(Category.ACTIVITY))
    event_type = Choice(EVENTS, required=True, metadata=like("ticket.state_changed"))
    actor_user_id = Identifier(required=True, allow_none=True, metadata=like(samples.ADA))
    actor_kind = Choice(KINDS, required=True, metadata=like("human"))
    actor = Nested(UserSummaryOut, required=True, allow_none=True)
    target_kind = Text(required=True, metadata=like("ticket"))
    target_id = Identifier(required=True, allow_none=True, metadata=like(samples.TICKET))
    project_id = Identifier(required=True, allow_none=True, metadata=like(samples.PROJECT))
    ticket_id = Identifier(required=True, allow_none=True, metadata=like(samples.TICKET))
    payload = Anything(required=True, metadata=like(MOVED))
    request_id = Identifier(required=True, allow_none=True, metadata=like(samples.REQUEST))
    tool_invocation_log_id = Identifier(required=True, allow_none=True, metadata=like(None))
    created_at = Stamp(required=True)


class AuditQuery(PageQuery):
    """The filters of the audit log."""

    since = QueryMoment(
        round_up=True, metadata={"description": "Events of this time or later; with `Z` or offset."}
    )
    until = QueryMoment(metadata={"description": "Events of this time or earlier."})
    actor_user_id = Identifier(metadata={"description": "What this user did."})
    event_type = Choice(EVENTS, metadata={"description": "Events of this type."})
    category = Choice(Category, metadata={"description": "Events of this category."})
    project_id = Identifier(metadata={"description": "What happened in this project."})
    ticket_id = Identifier(metadata={"description": "The ticket's UUID, not its display id."})
    request_id = Identifier(metadata={"description": "What this one request caused."})


class ToolInvocationOut(Schema):
    """One call of a tool by a bot. Secrets are taken out of the arguments, long texts cut."""

    id = Identifier(required=True, metadata=like(samples.INVOCATION))
    bot_user_id = Identifier(required=True, metadata=like(samples.BOT))
    tool_name = Text(required=True, metadata=like("get_ticket"))
    arguments = Anything(required=True, metadata=like({"ticket": "OPS-12"}))
    status = Choice((OK, ERROR), required=True, metadata=like(OK))
    result_status = Text(required=True, metadata=like("ok", "`ok`, or the code of the error."))
    error_message = Text(required=True, allow_none=True, metadata=like(None))
    duration_ms = Whole(required=True, metadata=like(4))
    request_id = Identifier(required=True, allow_none=True, metadata=like(samples.REQUEST))
    created_at = Stamp(required=True)


# ``from`` is no name in Python.
ToolQuery = PageQuery.from_dict(
    {
        "bot_id": Identifier(metadata={"description": "Calls by this bot."}),
        "tool_name": Text(metadata={"description": "Calls of this tool."}),
        "from": QueryMoment(
            attribute="since",
            round_up=True,
            metadata={"description": "Calls of this time or later; with `Z` or offset."},
        ),
        "to": QueryMoment(
            attribute="until", metadata={"description": "Calls of this time or earlier."}
        ),
        "status": Choice((OK, ERROR), metadata={"description": "Calls that ended like this."}),
        "request_id": Identifier(metadata={"description": "The call that was this request."}),
    },
    name="ToolQuery",
)
