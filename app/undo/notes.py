"""Undoing what happened to sticky notes: to one's own, and to those on a project's wall.

Events of personal notes say nothing of what they held, so only putting one up, and that one became
a ticket, can be undone, by whoever did. A note that became a ticket stays so for good: to undo that
takes both away and puts a note like it up, which whoever wants a ticket after all converts anew.
"""

from sqlalchemy import select

from app.audit.catalogue import UNDO_OF
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import by_id, session
from app.projects.models import Project
from app.sticky_notes import service
from app.sticky_notes.models import StickyNote
from app.tickets import loaders
from app.tickets import service as tickets
from app.undo.plans import NOTHING_LEFT, Difference, Plan, impossible
from app.undo.projects import fields_back
from app.undo.tickets import later

UNSAID = "What a personal note held is not written down, so nothing can bring it back."


AGAIN = "It took back a conversion: convert the note again instead."


def _took_back_a_conversion(event: AuditEvent) -> bool:
    """Whether the event is part of that: undone one by one, its parts would lose the note."""
    undone = by_id(AuditEvent, event.payload.get(UNDO_OF) or "")
    return undone is not None and undone.event_type == "sticky_note.converted"


def created(actor: Actor, event: AuditEvent) -> Plan:
    """Take it down; if it changed since, that is a reason to ask."""
    if _took_back_a_conversion(event):
        raise impossible(AGAIN)
    note = by_id(StickyNote, event.target_id or "")
    if note is None:
        return NOTHING_LEFT
    note = service.writable(actor, note.id)
    differences: tuple[Difference, ...] = ()
    if note.is_personal:
        if note.updated_at != note.created_at:
            differences = (Difference("body", None, None, note.body),)
    else:
        made = {name: {"from": None, "to": event.payload[name]} for name in ("body", "color")}
        _, differences = fields_back(note, made)
    return Plan(lambda: service.delete_note(actor, note.id), differences)


def updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put text and colour back."""
    if "changes" not in event.payload:
        raise impossible(UNSAID)
    note = by_id(StickyNote, event.target_id or "")
    if note is None:
        raise NotFound("sticky_note", event.target_id or "")
    wanted, differences = fields_back(note, event.payload["changes"])
    if not wanted:
        return NOTHING_LEFT
    return Plan(lambda: service.update_note(actor, note.id, **wanted), differences)


def deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Put one like it up again, in the name of whoever undoes; the old one is gone for good."""
    if "body" not in event.payload or event.project_id is None:
        raise impossible(UNSAID)
    if _took_back_a_conversion(event):
        raise impossible(AGAIN)
    project_id, payload = event.project_id, event.payload
    # Of two that undo at once the second finds what the first did.
    session.execute(
        select(Project.id).where(Project.id == project_id).with_for_update(key_share=True)
    )
    again = select(AuditEvent.id).where(
        AuditEvent.project_id == project_id,
        AuditEvent.event_type == "sticky_note.created",
        AuditEvent.created_at >= event.created_at,
        AuditEvent.payload[UNDO_OF].as_string() == event.id,
    )
    if session.scalar(again.limit(1)) is not None:
        return NOTHING_LEFT
    return Plan(
        lambda: service.create_in_project(
            actor, project_id, body=payload["body"], color=payload["color"]
        )
    )


def converted(actor: Actor, event: AuditEvent) -> Plan:
    """Delete the ticket, and put up a note like the one that it was made of, in place of that one.

    Whatever else happened to the ticket since is a reason to ask.
    """
    ticket = loaders.find(event.ticket_id or "", lock=True)
    lives = ticket is not None and not ticket.is_deleted
    stays = by_id(StickyNote, event.target_id or "") is not None
    if not (lives or stays):
        return NOTHING_LEFT
    note = service.writable(actor, event.target_id or "") if stays else None

    def act() -> None:
        if ticket is not None and lives:
            tickets.delete_ticket(actor, ticket.id)
        if note is not None:
            body, color = note.body, note.color
            if note.project_id is None:
                service.create_personal(actor, body=body, color=color)
            else:
                service.create_in_project(actor, note.project_id, body=body, color=color)
            service.delete_note(actor, note.id)

    return Plan(act, later(event) if lives else ())
