"""list_tickets: the filters of REST by name, and those that only agents have."""

from typing import Any

from app.mcp.parameters import INCLUDE_BODY, PAGE, Parameter, ParameterKind, choice, flag, text
from app.mcp.registry import Toolbox, ToolCall
from app.projects.models import StateCategory
from app.search import service as search
from app.tickets import listing
from app.tickets.models import Priority, TicketType
from app.tickets.read import MAY_BE_EMPTY, get_ticket
from app.tools import naming
from app.tools.naming import ASSIGNEE, PROJECT, STATE
from app.tools.projects import rows

toolbox = Toolbox()


@toolbox.tool(
    "list_tickets",
    "List tickets",
    calls=listing.list_tickets,
    parameters=(
        PROJECT,
        STATE,
        choice("state_category", StateCategory, "Kind of state."),
        choice("ticket_type", TicketType, "Type."),
        ASSIGNEE,
        text("reporter", "Username, UUID or me.", also="reporter_user_id"),
        text("label", "Label: name or UUID.", also="label_id"),
        choice("priority", Priority, "Priority."),
        text("parent", "Children of this ticket: display id or UUID.", also="parent_ticket_id"),
        flag("ready", "Only what can be started: not done, nobody's, not blocked, no epics."),
        Parameter("updated_since", ParameterKind.MOMENT, "Time such as 2026-11-20T00:00:00Z."),
        text("q", "Words to search for, as in search."),
        *PAGE,
        INCLUDE_BODY,
    ),
)
def list_tickets(call: ToolCall) -> dict[str, Any]:
    """Tickets by filter, newest first, without bodies (get_ticket has them). For your next task:
    ready true. For words alone, search ranks better. Follow page.next_cursor for more.
    """
    with_body = bool(call["include_body"])
    page = listing.list_tickets(
        call.actor,
        limit=call["limit"],
        cursor=call["cursor"],
        with_body=with_body,
        **_filters(call),
    )
    return rows(page.envelope, with_body=with_body, may_be_empty=MAY_BE_EMPTY)


def _filters(call: ToolCall) -> dict[str, Any]:
    actor = call.actor
    filters: dict[str, Any] = {
        name: call[name]
        for name in ("state_category", "ticket_type", "priority", "ready", "updated_since")
    }
    project_id = None
    if call["project"] is not None:
        project_id = filters["project_id"] = naming.project_id(actor, call["project"])
    if call["state"] is not None:
        filters["state_id"] = (
            [naming.state_id(project_id, call["state"])]
            if project_id
            else naming.state_ids(actor, call["state"])
        )
    if call["label"] is not None:
        filters["label_id"] = (
            naming.label_ids(project_id, [call["label"]], "label")
            if project_id
            else naming.labels_named(actor, call["label"])
        )
    if "assignee" in call.given:
        holder = naming.user_id_or_none(actor, call["assignee"], "assignee")
        filters["assignee_user_id"] = [holder]
    if call["reporter"] is not None:
        filters["reporter_user_id"] = naming.user_id(actor, call["reporter"], "reporter")
    if call["parent"] is not None:
        filters["parent_ticket_id"] = get_ticket(actor, call["parent"]).id
    if call["q"] is not None:
        filters["among"] = search.ticket_ids(call["q"])
    return filters
