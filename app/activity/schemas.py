"""Shapes of audit events and the filters of the log."""

from typing import Any, ClassVar

from marshmallow import Schema

from app.accounts.schemas import UserSummaryOut
from app.activity.tool_log import ERROR, OK
from app.audit.catalogue import EVENTS, Category
from app.core.actor import ActorKind
from app.rest.fields import Choice, Identifier, PageQuery, Text, Whole
from app.rest.moments import QueryMoment
from app.rest.shapes import Anything, Nested, Stamp

KINDS = [kind.value for kind in ActorKind if kind is not ActorKind.ANONYMOUS]


class AuditEventOut(Schema):
    """Something that happened: who did what to which target.

    The form of `payload` follows from `event_type`.
    """

    # Generators of clients take a union right in an allOf for the whole of the event.
    refined: ClassVar[dict[str, Any]] = {
        "allOf": [{"anyOf": [{"$ref": "#/components/schemas/AuditEventPayload"}]}]
    }

    id = Identifier(required=True)
    workspace_id = Identifier(required=True)
    category = Choice(Category, required=True)
    event_type = Choice(EVENTS, required=True)
    actor_user_id = Identifier(required=True, allow_none=True)
    actor_kind = Choice(KINDS, required=True)
    actor = Nested(UserSummaryOut, required=True, allow_none=True)
    target_kind = Text(required=True)
    target_id = Identifier(required=True, allow_none=True)
    project_id = Identifier(required=True, allow_none=True)
    ticket_id = Identifier(required=True, allow_none=True)
    payload = Anything(required=True)
    request_id = Identifier(required=True, allow_none=True)
    tool_invocation_log_id = Identifier(required=True, allow_none=True)
    created_at = Stamp(required=True)


class AuditQuery(PageQuery):
    """The filters of the audit log."""

    since = QueryMoment(
        round_up=True, metadata={"description": "Events of this time or later; with `Z` or offset."}
    )
    until = QueryMoment(metadata={"description": "Events of this time or earlier."})
    actor_user_id = Identifier()
    event_type = Choice(EVENTS)
    category = Choice(Category)
    project_id = Identifier()
    ticket_id = Identifier(metadata={"description": "The ticket's UUID, not its display id."})
    request_id = Identifier()


class ToolInvocationOut(Schema):
    """One call of a tool by a bot. Secrets are taken out of the arguments, long texts cut."""

    id = Identifier(required=True)
    bot_user_id = Identifier(required=True)
    tool_name = Text(required=True)
    arguments = Anything(required=True)
    status = Choice((OK, ERROR), required=True)
    result_status = Text(required=True, metadata={"description": "`ok`, or the code of the error."})
    error_message = Text(required=True, allow_none=True)
    duration_ms = Whole(required=True)
    request_id = Identifier(required=True, allow_none=True)
    created_at = Stamp(required=True)


# ``from`` is no name in Python.
ToolQuery = PageQuery.from_dict(
    {
        "bot_id": Identifier(),
        "tool_name": Text(),
        "from": QueryMoment(
            attribute="since",
            round_up=True,
            metadata={"description": "Calls of this time or later; with `Z` or offset."},
        ),
        "to": QueryMoment(
            attribute="until", metadata={"description": "Calls of this time or earlier."}
        ),
        "status": Choice((OK, ERROR)),
        "request_id": Identifier(),
    },
    name="ToolQuery",
)
