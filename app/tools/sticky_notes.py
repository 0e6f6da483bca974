"""Tools of sticky notes."""

from dataclasses import replace
from typing import Any

from app.mcp.jsonrpc import rows
from app.mcp.parameters import CREATE_ONCE, INCLUDE_BODY, PAGE, body, choice, clear_fields, text
from app.mcp.registry import ADDS, REPLACES, Toolbox, ToolCall
from app.sticky_notes import conversion, service
from app.sticky_notes.service import note_json
from app.tickets.models import Priority, TicketType
from app.tools import naming, ticket_fields
from app.tools.naming import ASSIGNEE, COLOR, NOTE, PARENT, PROJECT
from app.tools.ticket_fields import ticket_json

toolbox = Toolbox()

# Published as required: without it, the note would be personal, which the verb refuses to bots.
WALL_PROJECT = replace(PROJECT, expected=True)


@toolbox.tool(
    "list_sticky_notes",
    "List sticky notes",
    calls=service.list_of_project,
    parameters=(WALL_PROJECT, *PAGE, INCLUDE_BODY),
)
def list_sticky_notes(call: ToolCall) -> dict[str, Any]:
    """The notes on a project's wall, newest first; include_body true brings their text."""
    if call["project"] is None:
        page = service.list_personal(call.actor, **call.window)
    else:
        project_id = naming.project_id(call.actor, call["project"])
        page = service.list_of_project(call.actor, project_id, **call.window)
    return rows(page.collection, with_body=bool(call["include_body"]))


@toolbox.tool(
    "create_sticky_note",
    "Create sticky note",
    calls=service.create_in_project,
    hints=ADDS,
    parameters=(
        WALL_PROJECT,
        body("body", "Simple Markdown.", required=True),
        COLOR,
        *CREATE_ONCE,
    ),
)
def create_sticky_note(call: ToolCall) -> dict[str, Any]:
    """Put a note on a project's wall: an idea that is not a ticket yet."""
    fields = {"body": call["body"], "color": call["color"]}
    if call["project"] is None:
        return note_json(service.create_personal(call.actor, **fields))
    project = naming.project(call.actor, call["project"], writing=True)
    return note_json(service.create_in_project(call.actor, project.id, **fields))


@toolbox.tool(
    "update_sticky_note",
    "Update sticky note",
    calls=service.update_note,
    hints=REPLACES,
    parameters=(
        NOTE,
        body("body", "Replaces the whole text."),
        COLOR,
        replace(clear_fields("color"), hidden=True),
    ),
)
def update_sticky_note(call: ToolCall) -> dict[str, Any]:
    """Change the text or color of a project's note."""
    fields = {name: call[name] for name in ("body", "color") if name in call.arguments}
    return note_json(service.update_note(call.actor, call["sticky_note"], **fields))


@toolbox.tool(
    "delete_sticky_note",
    "Delete sticky note",
    calls=service.delete_note,
    hints=REPLACES,
    parameters=(NOTE,),
)
def delete_sticky_note(call: ToolCall) -> dict[str, Any]:
    """Delete a note permanently."""
    service.delete_note(call.actor, call["sticky_note"])
    return {"deleted": True, "id": call["sticky_note"]}


@toolbox.tool(
    "convert_sticky_note",
    "Turn note into ticket",
    calls=conversion.convert_note,
    hints=ADDS,
    parameters=(
        NOTE,
        PROJECT,
        choice("type", TicketType, "Type.", default="story"),
        text("title", "Default: its first line."),
        choice("priority", Priority, "Priority.", default="medium"),
        ASSIGNEE,
        PARENT,
        *CREATE_ONCE,
    ),
)
def convert_sticky_note(call: ToolCall) -> dict[str, Any]:
    """Create a ticket from a note, once; its text becomes the body and the note stays."""
    actor = call.actor
    note = service.writable(actor, call["sticky_note"])
    fields: dict[str, Any] = {}
    project_id, key = note.project_id, None
    if call["project"] is not None:
        project = naming.project(actor, call["project"], writing=True, in_body=True)
        project_id, key = project.id, project.key
        fields["project_id"] = project_id
    if project_id is not None:
        fields |= ticket_fields.fields(actor, project_id, call.arguments, key)
    return ticket_json(conversion.convert_note(actor, note.id, **fields))
