"""REST endpoints of sticky notes."""

from functools import partial

from app.accounts.bot_reads import ticket_seen
from app.core.errors import Conflict
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created
from app.sticky_notes import conversion, service
from app.sticky_notes.schemas import (
    StickyNoteConversion,
    StickyNoteCreate,
    StickyNoteOut,
    StickyNotePatch,
)
from app.sticky_notes.service import note_json
from app.tickets import read
from app.tickets.schemas import TicketOut

api = Api("sticky-notes")

NOTES = "/sticky-notes"
NOTE = f"{NOTES}/<note_id>"
PROJECT_NOTES = "/projects/<project_id>/sticky-notes"


@api.route(
    "GET",
    NOTES,
    "sticky_notes.list",
    calls=service.list_personal,
    query=PageQuery,
    returns=StickyNoteOut,
    paginated=True,
    leads_to=("sticky_notes.update",),
)
def list_personal(call: Call) -> Answer:
    """List the actor's personal notes, newest first; bots get an empty list."""
    return Answer(service.list_personal(call.actor, **call.query).collection)


@api.route(
    "POST",
    NOTES,
    "sticky_notes.create",
    calls=service.create_personal,
    body=StickyNoteCreate,
    returns=StickyNoteOut,
    status=201,
    idempotent=True,
    leads_to=("sticky_notes.update", "sticky_notes.convert"),
)
def create_personal(call: Call) -> Answer:
    """Create a personal note, visible only to its creator."""
    note = service.create_personal(call.actor, **call.body)
    return created(note_json(note), f"{NOTES}/{note.id}")


@api.route(
    "GET",
    PROJECT_NOTES,
    "projects.sticky_notes.list",
    calls=service.list_of_project,
    query=PageQuery,
    returns=StickyNoteOut,
    paginated=True,
    leads_to=("sticky_notes.update",),
)
def list_of_project(call: Call) -> Answer:
    """List a project's notes, newest first."""
    page = service.list_of_project(call.actor, call.path["project_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "POST",
    PROJECT_NOTES,
    "projects.sticky_notes.create",
    calls=service.create_in_project,
    body=StickyNoteCreate,
    returns=StickyNoteOut,
    status=201,
    idempotent=True,
    leads_to=("sticky_notes.update", "sticky_notes.convert"),
)
def create_in_project(call: Call) -> Answer:
    """Create a note on a project's wall."""
    note = service.create_in_project(call.actor, call.path["project_id"], **call.body)
    return created(note_json(note), f"{NOTES}/{note.id}")


@api.route(
    "PATCH",
    NOTE,
    "sticky_notes.update",
    calls=service.update_note,
    body=StickyNotePatch,
    returns=StickyNoteOut,
)
def update_note(call: Call) -> Answer:
    """Change a note's body or color."""
    return Answer(note_json(service.update_note(call.actor, call.path["note_id"], **call.body)))


@api.route("DELETE", NOTE, "sticky_notes.delete", calls=service.delete_note, status=204)
def delete_note(call: Call) -> Answer:
    """Delete a note permanently."""
    service.delete_note(call.actor, call.path["note_id"])
    return NO_CONTENT


@api.route(
    "POST",
    f"{NOTE}/convert-to-ticket",
    "sticky_notes.convert",
    calls=conversion.convert_note,
    body=StickyNoteConversion,
    returns=TicketOut,
    status=201,
    idempotent=True,
    leads_to=("tickets.get",),
    errors=(Conflict,),
)
def convert_note(call: Call) -> Answer:
    """Create a ticket from a note; the note stays and names the ticket."""
    ticket = conversion.convert_note(call.actor, call.path["note_id"], **call.body)
    seen = partial(ticket_seen, ticket.id, ticket.updated_at)
    return created(
        read.ticket_by_id(ticket.id), f"/tickets/{ticket.id}", etag=ticket.etag, shows=seen
    )
