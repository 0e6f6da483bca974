"""Undoing what was done to wiki pages, project notes and labels."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Conflict
from app.database.session import by_id, session
from app.projects import labels
from app.projects.models import Label
from app.rewind import messages
from app.rewind.others import ANYTHING, Key, OtherWrite
from app.rewind.parts import RewindPart, RewindView, Way, existing, gone
from app.sticky_notes import service as notes
from app.sticky_notes.models import StickyNote
from app.tickets.models import Ticket, TicketLabel
from app.wiki import service as wiki
from app.wiki.messages import another_has_slug
from app.wiki.models import WikiPage, WikiRevision, in_scope


def _subject(kind: str, event: AuditEvent) -> Key:
    return (kind, event.target_id or "")


def _obstacle_since(
    view: RewindView, subject: Key, event: AuditEvent, *, back: bool
) -> OtherWrite | None:
    """The later write by others on the subject, if undoing the event means deleting it."""
    return None if back else view.others.since((*subject, ANYTHING), event)


def _page_stands(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    subject = _subject("page", event)
    page = session.get_one(WikiPage, event.target_id)
    back = event.event_type == "wiki.deleted"
    now = view.exists(subject, is_there=not page.is_deleted)
    obstacle: OtherWrite | str | None = _obstacle_since(view, subject, event, back=back)
    if back and _has_other_page(view, page):
        obstacle = another_has_slug(page.slug)
    yield existing(subject, back=back, now=now, obstacle=obstacle)


def _has_other_page(view: RewindView, page: WikiPage) -> bool:
    """Whether another page has the slug of the page."""
    others = select(WikiPage.id, WikiPage.deleted_at).where(
        WikiPage.slug == page.slug, in_scope(page.project_id), WikiPage.id != page.id
    )
    return any(
        view.exists(("page", other.id), is_there=other.deleted_at is None)
        for other in session.execute(others)
    )


def _set_page(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    verb = wiki.restore_page if parts[0].back else wiki.delete_page
    verb(actor, event.target_id or "")


def _page_edited(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    """The title and body of the previous revision, if the event's revision changed them."""
    subject = _subject("page", event)
    page = session.get_one(WikiPage, event.target_id)
    obstacle = None
    if not view.exists(subject, is_there=not page.is_deleted):
        obstacle = gone(view, subject, "page")
        if obstacle is None:
            return
    number = event.payload["revision_number"]
    revisions = session.execute(
        select(WikiRevision.title, WikiRevision.body)
        .where(
            WikiRevision.page_id == page.id,
            WikiRevision.revision_number.in_((number - 1, number)),
        )
        .order_by(WikiRevision.revision_number)
    ).all()
    if len(revisions) < 2:
        return
    before, after = revisions
    for name in ("title", "body"):
        back = getattr(before, name)
        if back != getattr(after, name):
            key = (*subject, name)
            yield RewindPart(name, key, back, view.now(key, getattr(page, name)), obstacle)


def _put_page_back(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    summary = messages.rewound_revision(event.payload["revision_number"])
    values = {part.name: part.back for part in parts}
    wiki.update_page(actor, event.target_id or "", summary=summary, **values)


def _note_stands(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    subject = _subject("note", event)
    back = event.event_type == "sticky_note.deleted"
    now = view.exists(subject, is_there=by_id(StickyNote, event.target_id or "") is not None)
    obstacle: OtherWrite | str | None = _obstacle_since(view, subject, event, back=back)
    if back and ("body" not in event.payload or event.project_id is None):
        obstacle = messages.BEFORE_NOT_RECORDED
    yield existing(subject, back=back, now=now, obstacle=obstacle)


def _set_note(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    note_id, project_id = event.target_id or "", event.project_id or ""
    if not parts[0].back:
        notes.delete_note(actor, note_id)
        return
    history = _history_of_note(note_id, project_id)
    creator = next(
        (row.actor_user_id for row in history if row.event_type == "sticky_note.created"), None
    )
    if creator is None:
        raise Conflict("invariant_violation", messages.BEFORE_NOT_RECORDED)
    notes.put_back_note(
        actor,
        note_id,
        project_id=project_id,
        body=event.payload["body"],
        color=event.payload["color"],
        created_by_user_id=creator,
        converted_to_ticket_id=_ticket_of_note(history),
    )


def _history_of_note(note_id: str, project_id: str) -> Sequence[Any]:
    """The events that created, converted or changed a note, oldest first."""
    columns = (AuditEvent.event_type, AuditEvent.actor_user_id, AuditEvent.payload)
    statement = select(*columns).where(
        AuditEvent.event_type.in_(
            ("sticky_note.created", "sticky_note.converted", "sticky_note.updated")
        ),
        AuditEvent.project_id == project_id,
        AuditEvent.target_id == note_id,
    )
    return session.execute(statement.order_by(AuditEvent.created_at, AuditEvent.id)).all()


def _ticket_of_note(history: Sequence[Any]) -> str | None:
    """The ticket into which the note was converted, unless that was undone."""
    ticket_id = None
    for row in history:
        if row.event_type == "sticky_note.converted":
            ticket_id = row.payload["ticket_id"]
        elif notes.CONVERTED in row.payload.get("changes", ()):
            ticket_id = row.payload["changes"][notes.CONVERTED]["to"]
    return ticket_id


def _on_note(view: RewindView, event: AuditEvent) -> tuple[StickyNote | None, str | None] | None:
    """The event's note and, if it is deleted, the obstacle; None if there is nothing to do.

    The note is None if it does not exist but a rewind would create it again.
    """
    subject = _subject("note", event)
    note = by_id(StickyNote, event.target_id or "")
    if view.exists(subject, is_there=note is not None):
        return note, None
    obstacle = gone(view, subject, "note")
    return (note, obstacle) if obstacle else None


def _note_edited(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_note(view, event)
    if found is None:
        return
    note, obstacle = found
    changes = event.payload.get("changes")
    if changes is None:
        for name in event.payload.get("fields", ()):
            yield RewindPart(
                name, (*_subject("note", event), name), None, "", messages.BEFORE_NOT_RECORDED
            )
        return
    for name, change in changes.items():
        key = (*_subject("note", event), name)
        # The value of a deleted note is what its newest event wrote.
        present = getattr(note, name) if note is not None else change["to"]
        yield RewindPart(name, key, change["from"], view.now(key, present), obstacle)


def _put_note_back(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    notes.update_note(actor, event.target_id or "", **{part.name: part.back for part in parts})


def _note_converted(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_note(view, event)
    if found is None:
        return
    note, obstacle = found
    key = (*_subject("note", event), notes.CONVERTED)
    present = note.converted_to_ticket_id if note is not None else event.ticket_id
    yield RewindPart(notes.CONVERTED, key, None, view.now(key, present), obstacle)


def _take_back_conversion(actor: Actor, event: AuditEvent, _: Sequence[RewindPart]) -> None:
    notes.take_back_conversion(actor, event.target_id or "")


def _label_created(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    subject = _subject("label", event)
    label = by_id(Label, event.target_id or "")
    obstacle: OtherWrite | str | None = view.others.since((*subject, ANYTHING), event)
    if label is not None and obstacle is None and _is_used(view, label):
        obstacle = messages.TICKETS_HAVE_LABEL
    yield existing(
        subject,
        back=False,
        now=view.exists(subject, is_there=label is not None),
        obstacle=obstacle,
    )


def _is_used(view: RewindView, label: Label) -> bool:
    carrying = (
        select(Ticket.id)
        .join(TicketLabel, TicketLabel.ticket_id == Ticket.id)
        .where(TicketLabel.label_id == label.id, Ticket.deleted_at.is_(None))
    )
    if not view.foreseen:
        return session.scalar(carrying.limit(1)) is not None
    return any(
        view.exists(("ticket", ticket_id), is_there=True)
        and view.now(("ticket", ticket_id, "label", label.id), value=True)
        for ticket_id in session.scalars(carrying)
    )


def _delete_label(actor: Actor, event: AuditEvent, _: Sequence[RewindPart]) -> None:
    labels.delete_label(actor, event.project_id or "", event.target_id or "")


WAYS = {
    "wiki.created": Way(_page_stands, _set_page),
    "wiki.deleted": Way(_page_stands, _set_page),
    "wiki.restored": Way(_page_stands, _set_page),
    "wiki.updated": Way(_page_edited, _put_page_back),
    "sticky_note.created": Way(_note_stands, _set_note),
    "sticky_note.deleted": Way(_note_stands, _set_note),
    "sticky_note.updated": Way(_note_edited, _put_note_back),
    "sticky_note.converted": Way(_note_converted, _take_back_conversion),
    "label.created": Way(_label_created, _delete_label),
}
