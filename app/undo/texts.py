"""Undoing changes of comments, wiki pages and sticky notes."""

from functools import partial

from sqlalchemy import select

from app.audit.event_types import UNDO_OF
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Forbidden
from app.database.session import by_id, by_id_or_not_found, session
from app.projects.models import Project
from app.sticky_notes import service as notes
from app.sticky_notes.models import StickyNote
from app.tickets import comments, loaders
from app.tickets import service as tickets
from app.tickets.models import Comment
from app.undo import messages
from app.undo.plans import (
    NOTHING_LEFT,
    Difference,
    Plan,
    changed_since,
    deleting,
    impossible,
    one_value,
    put_back,
    restoring,
)
from app.undo.tickets import later
from app.wiki import service as wiki
from app.wiki.models import WikiPage, WikiRevision


def _is_part_of_undone_conversion(event: AuditEvent) -> bool:
    """Whether the event belongs to an undone conversion: undone alone, it would lose the note."""
    undone = by_id(AuditEvent, event.payload.get(UNDO_OF) or "")
    return undone is not None and undone.event_type == "sticky_note.converted"


def note_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; later changes need confirmation."""
    if _is_part_of_undone_conversion(event):
        raise impossible(messages.CONVERT_AGAIN)
    note = by_id(StickyNote, event.target_id or "")
    if note is None:
        return NOTHING_LEFT
    note = notes.writable(actor, note.id)
    differences: tuple[Difference, ...] = ()
    if not note.is_personal:
        differences = changed_since(note, event, "body", "color")
    elif note.updated_at != note.created_at:
        differences = (Difference("body", None, None, note.body),)
    return Plan(lambda: notes.delete_note(actor, note.id), differences)


def note_updated(actor: Actor, event: AuditEvent) -> Plan:
    if "changes" not in event.payload:
        raise impossible(messages.NOTE_NOT_RECORDED)
    note = by_id_or_not_found(StickyNote, event.target_id or "", "sticky_note")
    return put_back(note, event.payload["changes"], partial(notes.update_note, actor, note.id))


def note_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Create an equal note, in the name of the actor."""
    if "body" not in event.payload or event.project_id is None:
        raise impossible(messages.NOTE_NOT_RECORDED)
    if _is_part_of_undone_conversion(event):
        raise impossible(messages.CONVERT_AGAIN)
    project_id, payload = event.project_id, event.payload
    # Locked, so that of two concurrent undos the second one finds the note of the first.
    session.execute(
        select(Project.id).where(Project.id == project_id).with_for_update(key_share=True)
    )
    earlier_undo = select(AuditEvent.id).where(
        AuditEvent.project_id == project_id,
        AuditEvent.event_type == "sticky_note.created",
        AuditEvent.created_at >= event.created_at,
        AuditEvent.payload[UNDO_OF].as_string() == event.id,
    )
    if session.scalar(earlier_undo.limit(1)) is not None:
        return NOTHING_LEFT
    return Plan(
        lambda: notes.create_in_project(
            actor, project_id, body=payload["body"], color=payload["color"]
        )
    )


def note_converted(actor: Actor, event: AuditEvent) -> Plan:
    """Delete the ticket and replace the converted note by an equal one.

    Other later events of the ticket need confirmation.
    """
    ticket = loaders.find(event.ticket_id or "", lock=True)
    is_live = ticket is not None and not ticket.is_deleted
    has_note = by_id(StickyNote, event.target_id or "") is not None
    if not (is_live or has_note):
        return NOTHING_LEFT
    note = notes.writable(actor, event.target_id or "") if has_note else None

    def act() -> None:
        if ticket is not None and is_live:
            tickets.delete_ticket(actor, ticket.id)
        if note is not None:
            body, color = note.body, note.color
            if note.project_id is None:
                notes.create_personal(actor, body=body, color=color)
            else:
                notes.create_in_project(actor, note.project_id, body=body, color=color)
            notes.delete_note(actor, note.id)

    return Plan(act, later(event) if is_live else ())


def _comment(event: AuditEvent) -> Comment:
    comment_id = event.payload["comment_id"]
    return by_id_or_not_found(Comment, comment_id, "comment")


def comment_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; later edits need confirmation."""
    comment = _comment(event)
    if comment.is_deleted:
        return NOTHING_LEFT
    differences = changed_since(comment, event, "body")
    return Plan(lambda: comments.delete_comment(actor, comment.id), differences)


def comment_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put the earlier text back; raises Forbidden ``not_author`` for anyone but the author."""
    comment = _comment(event)
    if comment.is_deleted:
        raise impossible(messages.COMMENT_DELETED)
    if comment.author_user_id != actor.user_id:
        raise Forbidden("not_author")
    back = event.payload["previous_body"]
    return one_value(
        "body",
        back,
        event.payload["body"],
        comment.body,
        lambda: comments.update_comment(actor, comment.id, body=back),
    )


comment_deleted = restoring(_comment, tickets.restore_comment)
comment_restored = deleting(_comment, comments.delete_comment)


def _page(event: AuditEvent) -> WikiPage:
    return by_id_or_not_found(WikiPage, event.target_id or "", "wiki_page")


def page_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; later revisions need confirmation."""
    page = _page(event)
    if page.is_deleted:
        return NOTHING_LEFT
    number = page.revision_number
    differences = (Difference("revision_number", None, 1, number),) if number != 1 else ()
    return Plan(lambda: wiki.delete_page(actor, page.id), differences)


def page_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put back what this revision changed."""
    page = _page(event)
    if page.is_deleted:
        raise impossible(messages.page_deleted(page.slug))
    number = event.payload["revision_number"]
    revisions = session.scalars(
        select(WikiRevision)
        .where(
            WikiRevision.page_id == page.id,
            WikiRevision.revision_number.in_((number - 1, number)),
        )
        .order_by(WikiRevision.revision_number)
    ).all()
    if len(revisions) < 2:
        raise impossible(messages.REVISION_NOT_FOUND)
    before, after = revisions
    changes = {
        name: {"from": getattr(before, name), "to": getattr(after, name)}
        for name in ("title", "body")
        if getattr(before, name) != getattr(after, name)
    }
    update = partial(wiki.update_page, actor, page.id, summary=messages.undid_revision(number))
    return put_back(page, changes, update)


page_deleted = restoring(_page, wiki.restore_page)
page_restored = deleting(_page, wiki.delete_page)
