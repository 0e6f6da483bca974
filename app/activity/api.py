"""REST endpoints of the audit log and of the activity of tickets and projects."""

from functools import partial
from typing import Any, ClassVar

from marshmallow import Schema
from marshmallow.fields import Float

from app.accounts.bot_reads import events_seen
from app.accounts.schemas import UserSummaryOut
from app.activity import service
from app.activity.service import ERROR, OK
from app.audit.event_types import EVENTS, Category
from app.audit.reading_status import ReadStatus
from app.core.actor import ActorKind
from app.rest import examples
from app.rest.examples import Anything, Nested, TimestampOut, like
from app.rest.fields import (
    Choice,
    Identifier,
    Items,
    PageQuery,
    QueryFlag,
    QuerySchema,
    Text,
    Timestamp,
    Whole,
)
from app.rest.routing import Answer, Api, Call

OF_VERSIONS = [one for one in ReadStatus if one is not ReadStatus.PARTLY_READ]
OF_COMMENTS = [one for one in ReadStatus if one is not ReadStatus.OUTDATED]
KINDS = [kind.value for kind in ActorKind if kind is not ActorKind.ANONYMOUS]
MOVED = {
    "from_state_id": examples.STATE,
    "from_state_name": "In progress",
    "to_state_id": examples.NEXT_STATE,
    "to_state_name": "In review",
}


class AuditEventOut(Schema):
    """Something that happened: who did what to which target.

    The form of `payload` follows from `event_type`.
    """

    # Without the inner anyOf, client generators mistake the union for the whole event.
    refined: ClassVar[dict[str, Any]] = {
        "allOf": [{"anyOf": [{"$ref": "#/components/schemas/AuditEventPayload"}]}]
    }

    id = Identifier(required=True, metadata=like(examples.EVENT))
    workspace_id = Identifier(required=True, metadata=like(examples.WORKSPACE))
    category = Choice(Category, required=True, metadata=like(Category.ACTIVITY))
    event_type = Choice(EVENTS, required=True, metadata=like("ticket.state_changed"))
    actor_user_id = Identifier(required=True, allow_none=True, metadata=like(examples.ADA))
    actor_kind = Choice(KINDS, required=True, metadata=like("human"))
    actor = Nested(UserSummaryOut, required=True, allow_none=True)
    target_kind = Text(required=True, metadata=like("ticket"))
    target_id = Identifier(required=True, allow_none=True, metadata=like(examples.TICKET))
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))
    ticket_id = Identifier(required=True, allow_none=True, metadata=like(examples.TICKET))
    payload = Anything(required=True, metadata=like(MOVED))
    request_id = Identifier(required=True, allow_none=True, metadata=like(examples.REQUEST))
    tool_invocation_log_id = Identifier(required=True, allow_none=True, metadata=like(None))
    created_at = TimestampOut(required=True)


class ProofStepOut(Schema):
    """A hash beside the way from an event to the root of its checkpoint."""

    side = Choice(("left", "right"), required=True, metadata=like("left"))
    hash = Text(required=True, metadata=like("5f" * 32))


class AuditCheckpointOut(Schema):
    """A checkpoint of the audit log, as its webhook event tells it."""

    sequence = Whole(required=True, metadata=like(12))
    made_at = TimestampOut(required=True)
    event_count = Whole(required=True, metadata=like(140))
    first_event_id = Identifier(required=True, metadata=like(examples.EVENT))
    last_event_id = Identifier(required=True, metadata=like(examples.EVENT))
    root = Text(required=True, metadata=like("ab" * 32))
    previous = Text(required=True, metadata=like("cd" * 32))
    hash = Text(required=True, metadata=like("ef" * 32))
    signature = Text(required=True, metadata=like("q83vEjRWeJ…"))
    public_key = Text(required=True, metadata=like("vT1mYt0k…"))


class ProofOut(Schema):
    """The proof that a checkpoint has an event as it is."""

    event = Text(required=True, metadata=like('{"actor_kind":"human",…}', "What was hashed."))
    index = Whole(required=True, metadata=like(3, "Its place among the events."))
    path = Items(Nested(ProofStepOut), required=True)
    checkpoint = Nested(AuditCheckpointOut, required=True)


class TicketReceiptOut(Schema):
    """Which version of a ticket a bot had read when it changed it."""

    status = Choice(OF_VERSIONS, required=True, metadata=like(ReadStatus.READ))
    version = TimestampOut(required=True)
    read_version = TimestampOut(required=True, allow_none=True)


class UnreadCommentOut(Schema):
    """A comment that a bot had not read."""

    id = Identifier(required=True, metadata=like(examples.COMMENT))
    created_at = TimestampOut(required=True)


class CommentsReceiptOut(Schema):
    """How many of a ticket's newest 200 comments a bot had read, and the newest 20 unread ones."""

    status = Choice(OF_COMMENTS, required=True, metadata=like(ReadStatus.PARTLY_READ))
    count = Whole(required=True, metadata=like(5))
    read_count = Whole(required=True, metadata=like(4, "Its own comments count as read."))
    unread = Items(Nested(UnreadCommentOut), required=True)


class PageReceiptOut(Schema):
    """Which revision of a wiki page a bot had read."""

    page_id = Identifier(required=True, metadata=like(examples.PAGE))
    status = Choice(OF_VERSIONS, required=True, metadata=like(ReadStatus.OUTDATED))
    revision_number = Whole(required=True, metadata=like(3))
    read_revision_number = Whole(required=True, allow_none=True, metadata=like(2))


class ReceiptOut(Schema):
    """What a bot had read when it made a change.

    A status is `unknown` where Docket cannot tell, as it lost what the bot had read.
    """

    ticket = Nested(TicketReceiptOut, required=True, allow_none=True)
    comments = Nested(CommentsReceiptOut, required=True, allow_none=True)
    page = Nested(
        PageReceiptOut,
        required=True,
        allow_none=True,
        metadata={"description": "The wiki page that was changed."},
    )
    house_rules = Nested(
        PageReceiptOut,
        required=True,
        allow_none=True,
        metadata={"description": "The page `agents` of the project, else the global one."},
    )


class ProvableEventOut(AuditEventOut):
    """An event, what its bot had read, and the proof that a checkpoint has it."""

    receipt = Nested(
        ReceiptOut,
        required=True,
        allow_none=True,
        metadata={
            "description": "Null unless a bot made the change, and there was something to read."
        },
    )
    proof = Nested(
        ProofOut,
        required=True,
        allow_none=True,
        metadata={"description": "Null unless requested and a checkpoint contains the event."},
    )


class ProofQuery(QuerySchema):
    """Whether to prove the event."""

    proof = QueryFlag(
        load_default=False,
        metadata={"description": "Include the proof of a checkpoint."},
    )


class AuditQuery(PageQuery):
    """The filters of the audit log."""

    since = Timestamp(
        round_up=True, metadata={"description": "Events at this time or later; with `Z` or offset."}
    )
    until = Timestamp(metadata={"description": "Events at this time or earlier."})
    actor_user_id = Identifier(metadata={"description": "Events by this user."})
    event_type = Choice(EVENTS, metadata={"description": "Events of this type."})
    category = Choice(Category, metadata={"description": "Events of this category."})
    project_id = Identifier(metadata={"description": "Events in this project."})
    ticket_id = Identifier(metadata={"description": "The UUID of the ticket, not its display id."})
    request_id = Identifier(metadata={"description": "Events of this request."})


class UsageOut(Schema):
    """What a client says that its model used for a call."""

    input_tokens = Whole(required=True, metadata=like(1200))
    output_tokens = Whole(required=True, metadata=like(85))
    cost_usd = Float(required=True, metadata=like(0.0061))


class ToolInvocationOut(Schema):
    """One call of a tool by a bot. Secrets are taken out of the arguments, long texts cut."""

    id = Identifier(required=True, metadata=like(examples.INVOCATION))
    bot_user_id = Identifier(required=True, metadata=like(examples.BOT))
    tool_name = Text(required=True, metadata=like("get_ticket"))
    arguments = Anything(required=True, metadata=like({"ticket": "OPS-12"}))
    status = Choice((OK, ERROR), required=True, metadata=like(OK))
    result_status = Text(required=True, metadata=like("ok", "`ok`, or the code of the error."))
    error_message = Text(required=True, allow_none=True, metadata=like(None))
    duration_ms = Whole(required=True, metadata=like(4))
    request_id = Identifier(required=True, allow_none=True, metadata=like(examples.REQUEST))
    traceparent = Text(
        required=True,
        allow_none=True,
        metadata=like(
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "The trace that the client named in `_meta`.",
        ),
    )
    usage = Nested(UsageOut, required=True, allow_none=True)
    created_at = TimestampOut(required=True)


# ``from`` is a Python keyword, so a class statement cannot declare this field.
ToolQuery = PageQuery.from_dict(
    {
        "bot_id": Identifier(metadata={"description": "Calls by this bot."}),
        "tool_name": Text(metadata={"description": "Calls of this tool."}),
        "from": Timestamp(
            attribute="since",
            round_up=True,
            metadata={"description": "Calls at this time or later; with `Z` or offset."},
        ),
        "to": Timestamp(
            attribute="until", metadata={"description": "Calls at this time or earlier."}
        ),
        "status": Choice((OK, ERROR), metadata={"description": "Calls with this result."}),
        "request_id": Identifier(metadata={"description": "The call made by this request."}),
    },
    name="ToolQuery",
)


api = Api("audit")


@api.route(
    "GET",
    "/audit",
    "audit.list",
    calls=service.list_events,
    query=AuditQuery,
    returns=AuditEventOut,
    paginated=True,
    leads_to=("audit.get",),
)
def list_events(call: Call) -> Answer:
    """List audit events, newest first."""
    return Answer(service.list_events(call.actor, **call.query).collection)


@api.route(
    "GET",
    "/audit/tools",
    "audit.tools.list",
    calls=service.list_invocations,
    query=ToolQuery,
    returns=ToolInvocationOut,
    paginated=True,
)
def list_invocations(call: Call) -> Answer:
    """List the tool calls of bots, newest first."""
    return Answer(service.list_invocations(call.actor, **call.query).collection)


@api.route(
    "GET",
    "/audit/<event_id>",
    "audit.get",
    calls=service.get_event,
    query=ProofQuery,
    returns=ProvableEventOut,
)
def get_event(call: Call) -> Answer:
    """Fetch one audit event with its receipt.

    With `proof=true`, it includes the proof that a checkpoint contains the event.
    """
    return Answer(service.get_event(call.actor, call.path["event_id"], **call.query))


@api.route(
    "GET",
    "/tickets/<ticket_id>/activity",
    "tickets.activity.list",
    tag="tickets",
    calls=service.list_ticket_activity,
    query=PageQuery,
    returns=AuditEventOut,
    paginated=True,
    leads_to=("audit.get",),
)
def list_ticket_activity(call: Call) -> Answer:
    """List what happened to a ticket, newest first."""
    page = service.list_ticket_activity(call.actor, call.path["ticket_id"], **call.query)
    return Answer(page.collection, shows=partial(events_seen, page.data))


@api.route(
    "GET",
    "/projects/<project_id>/activity",
    "projects.activity.list",
    tag="projects",
    calls=service.list_project_activity,
    query=PageQuery,
    returns=AuditEventOut,
    paginated=True,
    leads_to=("audit.get",),
)
def list_project_activity(call: Call) -> Answer:
    """List what happened in a project, newest first."""
    page = service.list_project_activity(call.actor, call.path["project_id"], **call.query)
    return Answer(page.collection, shows=partial(events_seen, page.data))
