"""REST endpoints of the audit log and of the activity of tickets and projects."""

from app.activity import service, tool_log
from app.activity.schemas import AuditEventOut, AuditQuery, ToolInvocationOut, ToolQuery
from app.rest.answers import Answer
from app.rest.fields import PageQuery
from app.rest.routing import Api, Call

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
    return Answer(service.list_events(call.actor, **call.query).envelope)


@api.route(
    "GET",
    "/audit/tools",
    "audit.tools.list",
    calls=tool_log.list_invocations,
    query=ToolQuery,
    returns=ToolInvocationOut,
    paginated=True,
)
def list_invocations(call: Call) -> Answer:
    """List the tool calls of bots, newest first."""
    return Answer(tool_log.list_invocations(call.actor, **call.query).envelope)


@api.route("GET", "/audit/<event_id>", "audit.get", calls=service.get_event, returns=AuditEventOut)
def get_event(call: Call) -> Answer:
    """Fetch one audit event."""
    return Answer(service.get_event(call.actor, call.path["event_id"]))


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
    return Answer(page.envelope)


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
    return Answer(page.envelope)
