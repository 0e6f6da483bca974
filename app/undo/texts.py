"""Reverting changes of comments, wiki pages and sticky notes."""

from sqlalchemy import select

from app.audit.catalogue import UNDO_OF
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.database.session import by_id, session
from app.projects.models import Project
from app.sticky_notes import service as sticky_notes_service
from app.sticky_notes.models import StickyNote
from app.tickets import comments, loaders
from app.tickets import service as ticket_restoring
from app.tickets import service as tickets
from app.tickets.models import Comment
from app.undo.plans import NOTHING_LEFT, Difference, Plan, impossible, one_value
from app.undo.projects import fields_back
from app.undo.tickets import later
from app.wiki import service
from app.wiki.models import WikiPage, WikiRevision

UNSAID = "What a personal note held is not written down, so nothing can bring it back."


AGAIN = "It took back a conversion: convert the note again instead."


def _took_back_a_conversion(event: AuditEvent) -> bool:
    """Whether the event is part of that: undone one by one, its parts would lose the note."""
    undone = by_id(AuditEvent, event.payload.get(UNDO_OF) or "")
    return undone is not None and undone.event_type == "sticky_note.converted"


def note_created(actor: Actor, event: AuditEvent) -> Plan:
    """Take it down; if it changed since, that is a reason to ask."""
    if _took_back_a_conversion(event):
        raise impossible(AGAIN)
    note = by_id(StickyNote, event.target_id or "")
    if note is None:
        return NOTHING_LEFT
    note = sticky_notes_service.writable(actor, note.id)
    differences: tuple[Difference, ...] = ()
    if note.is_personal:
        if note.updated_at != note.created_at:
            differences = (Difference("body", None, None, note.body),)
    else:
        made = {name: {"from": None, "to": event.payload[name]} for name in ("body", "color")}
        _, differences = fields_back(note, made)
    return Plan(lambda: sticky_notes_service.delete_note(actor, note.id), differences)


def note_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put text and colour back."""
    if "changes" not in event.payload:
        raise impossible(UNSAID)
    note = by_id(StickyNote, event.target_id or "")
    if note is None:
        raise NotFound("sticky_note", event.target_id or "")
    wanted, differences = fields_back(note, event.payload["changes"])
    if not wanted:
        return NOTHING_LEFT
    return Plan(lambda: sticky_notes_service.update_note(actor, note.id, **wanted), differences)


def note_deleted(actor: Actor, event: AuditEvent) -> Plan:
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
        lambda: sticky_notes_service.create_in_project(
            actor, project_id, body=payload["body"], color=payload["color"]
        )
    )


def note_converted(actor: Actor, event: AuditEvent) -> Plan:
    """Delete the ticket, and put up a note like the one that it was made of, in place of that one.

    Whatever else happened to the ticket since is a reason to ask.
    """
    ticket = loaders.find(event.ticket_id or "", lock=True)
    lives = ticket is not None and not ticket.is_deleted
    stays = by_id(StickyNote, event.target_id or "") is not None
    if not (lives or stays):
        return NOTHING_LEFT
    note = sticky_notes_service.writable(actor, event.target_id or "") if stays else None

    def act() -> None:
        if ticket is not None and lives:
            tickets.delete_ticket(actor, ticket.id)
        if note is not None:
            body, color = note.body, note.color
            if note.project_id is None:
                sticky_notes_service.create_personal(actor, body=body, color=color)
            else:
                sticky_notes_service.create_in_project(
                    actor, note.project_id, body=body, color=color
                )
            sticky_notes_service.delete_note(actor, note.id)

    return Plan(act, later(event) if lives else ())


def _comment(event: AuditEvent, *, deleted: bool = False) -> Comment:
    identifier = event.payload["comment_id"]
    comment = by_id(Comment, identifier)
    if comment is None:
        raise NotFound("comment", identifier)
    if comment.is_deleted and not deleted:
        raise impossible("The comment was deleted.")
    return comment


def comment_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; if it was edited since, that is a reason to ask."""
    comment = _comment(event, deleted=True)
    if comment.is_deleted:
        return NOTHING_LEFT
    was = event.payload["body"]
    changed = () if comment.body == was else (Difference("body", None, was, comment.body),)
    return Plan(lambda: comments.delete_comment(actor, comment.id), changed)


def comment_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Put the text back that it had; raises Forbidden ``not_author`` for anyone but its author."""
    comment = _comment(event)
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


def comment_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Bring it back."""
    comment = _comment(event, deleted=True)
    if not comment.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: ticket_restoring.restore_comment(actor, comment.id))


def comment_restored(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it again."""
    comment = _comment(event, deleted=True)
    if comment.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: comments.delete_comment(actor, comment.id))


def _page(event: AuditEvent, *, deleted: bool = False) -> WikiPage:
    page = by_id(WikiPage, event.target_id or "")
    if page is None:
        raise NotFound("wiki_page", event.target_id or "")
    if page.is_deleted and not deleted:
        raise impossible(f"The page {page.slug} was deleted.")
    return page


def page_created(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it; if it was saved since, that is a reason to ask."""
    page = _page(event, deleted=True)
    if page.is_deleted:
        return NOTHING_LEFT
    later = page.revision_number - 1
    changed = (Difference("revision_number", None, 1, page.revision_number),) if later else ()
    return Plan(lambda: service.delete_page(actor, page.id), changed)


def page_updated(actor: Actor, event: AuditEvent) -> Plan:
    """Save what the revision before it said, as far as this one changed it."""
    page = _page(event)
    number = event.payload["revision_number"]
    found = {
        one.revision_number: one
        for one in session.scalars(
            select(WikiRevision).where(
                WikiRevision.page_id == page.id,
                WikiRevision.revision_number.in_((number - 1, number)),
            )
        )
    }
    if len(found) < 2:
        raise impossible("The revision before it is not known.")
    before, after = found[number - 1], found[number]
    wanted: dict[str, str] = {}
    differences: list[Difference] = []
    for name in ("title", "body"):
        back, left, now = getattr(before, name), getattr(after, name), getattr(page, name)
        if back in (left, now):
            continue
        wanted[name] = back
        if now != left:
            differences.append(Difference(name, back, left, now))
    if not wanted:
        return NOTHING_LEFT
    return Plan(
        lambda: service.update_page(
            actor,
            page.id,
            title=wanted.get("title"),
            body=wanted.get("body"),
            summary=f"undo of r{number}",
        ),
        tuple(differences),
    )


def page_deleted(actor: Actor, event: AuditEvent) -> Plan:
    """Bring it back."""
    page = _page(event, deleted=True)
    if not page.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.restore_page(actor, page.id))


def page_restored(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it again."""
    page = _page(event, deleted=True)
    if page.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.delete_page(actor, page.id))
