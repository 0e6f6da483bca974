"""Undoing what was done to tickets, their comments, relations, links and watchers."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import or_, select

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.database.session import session
from app.projects.models import Label
from app.rewind import messages
from app.rewind.others import (
    ANYTHING,
    Key,
    OtherWrite,
    changed_labels,
    reaction_key,
    relation_key,
)
from app.rewind.parts import RewindPart, RewindView, Way, existing, gone
from app.tickets import comments, links, reactions, relations, service, watchers
from app.tickets.messages import PARENT_OF_OTHER_PROJECT
from app.tickets.models import Comment, CommentReaction, Ticket, TicketRelation
from app.tickets.ticket_labels import label_ids_of
from app.undo.tickets import FIELDS, LABELS, earlier_state_id

LABEL = "label "
PARENT = "parent_ticket_id"


def _subject(ticket: Ticket) -> Key:
    return ("ticket", ticket.id)


def _on_ticket(view: RewindView, event: AuditEvent) -> tuple[Ticket, str | None] | None:
    """The event's ticket and, if it is deleted, the obstacle; None if a rewind deleted it."""
    ticket = session.get_one(Ticket, event.ticket_id)
    if view.exists(_subject(ticket), is_there=not ticket.is_deleted):
        return ticket, None
    obstacle = gone(view, _subject(ticket), "ticket")
    return (ticket, obstacle) if obstacle else None


def needed_tickets(event: AuditEvent) -> set[str]:
    """The tickets that must exist to undo the event: both ends of a relation, or the parent."""
    if event.event_type == "ticket.relation_removed":
        return set(relation_key(event.payload)[1:3])
    if event.event_type == "ticket.updated":
        parent_id = event.payload["changes"].get(PARENT, {}).get("from")
        return {parent_id} if parent_id else set()
    return set()


def _field(
    view: RewindView, ticket: Ticket, name: str, back: Any, obstacle: str | None
) -> RewindPart:
    key = (*_subject(ticket), name)
    now = view.now(key, getattr(ticket, name))
    return RewindPart(name, key, back, now, obstacle)


def _updated(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_ticket(view, event)
    if found is None:
        return
    ticket, obstacle = found
    for name, change in event.payload["changes"].items():
        if name == LABELS:
            yield from _labels(view, ticket, change, obstacle)
        elif name in FIELDS:
            back = change["from"]
            lost = _lost_parent(view, back) if name == PARENT and back else None
            yield _field(view, ticket, name, back, obstacle or lost)


def _lost_parent(view: RewindView, ticket_id: str) -> str | None:
    """The verb's refusal if the parent is deleted, else None."""
    deleted_at = session.scalar(select(Ticket.deleted_at).where(Ticket.id == ticket_id))
    is_there = view.exists(("ticket", ticket_id), is_there=deleted_at is None)
    return None if is_there else PARENT_OF_OTHER_PROJECT


def _labels(
    view: RewindView, ticket: Ticket, change: dict[str, Any], obstacle: str | None
) -> Iterator[RewindPart]:
    """Each label separately: an added one is removed, a removed one is added."""
    added, removed = changed_labels(change)
    present = set(label_ids_of(ticket))
    kept = set(session.scalars(select(Label.id).where(Label.id.in_(removed))))
    for label_id in (*added, *removed):
        key = (*_subject(ticket), "label", label_id)
        is_lost = label_id in removed and label_id not in kept
        yield RewindPart(
            f"{LABEL}{label_id}",
            key,
            label_id in removed,
            view.now(key, label_id in present),
            messages.LABEL_DELETED if is_lost else obstacle,
        )


def _put_fields_back(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    fields = {part.name: part.back for part in parts if not part.name.startswith(LABEL)}
    for part in parts:
        if part.name.startswith(LABEL):
            which = "add_label_ids" if part.back else "remove_label_ids"
            fields.setdefault(which, []).append(part.name.removeprefix(LABEL))
    service.update_ticket(actor, event.ticket_id or "", **fields)


def _moved(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_ticket(view, event)
    if found is None:
        return
    ticket, obstacle = found
    back = earlier_state_id(event)
    if back is None:
        obstacle = messages.STATE_DELETED
    yield _field(view, ticket, "state_id", back, obstacle)


def _move_back(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    service.transition_ticket(actor, event.ticket_id or "", state_id=parts[0].back)


def _assigned(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_ticket(view, event)
    if found is not None:
        ticket, obstacle = found
        yield _field(view, ticket, "assignee_user_id", event.payload["from_user_id"], obstacle)


def _begun(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    """Delete a ticket that was created or restored, unless others wrote on it later."""
    ticket = session.get_one(Ticket, event.ticket_id)
    subject = _subject(ticket)
    now = view.exists(subject, is_there=not ticket.is_deleted)
    obstacle = _in_use(view, ticket, event) if now else None
    yield existing(subject, back=False, now=now, obstacle=obstacle)


def _in_use(view: RewindView, ticket: Ticket, event: AuditEvent) -> OtherWrite | str | None:
    by_others = view.others.since((*_subject(ticket), ANYTHING), event)
    if by_others:
        return by_others
    ends = (TicketRelation.source_ticket_id, TicketRelation.target_ticket_id)
    related = select(TicketRelation).where(
        or_(*(end == ticket.id for end in ends)),
        TicketRelation.created_by_user_id != view.scope.user_id,
        TicketRelation.id > event.id,
    )
    keys = {
        ("relation", one.source_ticket_id, one.target_ticket_id, one.type)
        for one in session.scalars(related)
    }
    if any(view.now(key, value=False) for key in view.foreseen_at("related", ticket.id)) or any(
        view.now(key, value=True) for key in keys
    ):
        return messages.OTHERS_RELATED
    children = select(Ticket.id, Ticket.parent_ticket_id, Ticket.deleted_at).where(
        or_(
            Ticket.parent_ticket_id == ticket.id,
            Ticket.id.in_(view.foreseen_at("below", ticket.id)),
        )
    )
    for child in session.execute(children):
        subject = ("ticket", child.id)
        parent_id = view.now((*subject, PARENT), child.parent_ticket_id)
        if parent_id == ticket.id and view.exists(subject, is_there=child.deleted_at is None):
            return messages.TICKETS_BELOW
    return None


def _ended(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    ticket = session.get_one(Ticket, event.ticket_id)
    now = view.exists(_subject(ticket), is_there=not ticket.is_deleted)
    yield existing(_subject(ticket), back=True, now=now)


def _set_existence(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    verb = service.restore_ticket if parts[0].back else service.delete_ticket
    verb(actor, event.ticket_id or "")


def _watching(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_ticket(view, event)
    if found is None:
        return
    ticket, obstacle = found
    user_id = event.payload["user_id"]
    key = (*_subject(ticket), "watcher", user_id)
    now = view.now(key, watchers.is_watching(user_id, ticket))
    back = event.event_type == "ticket.watcher_removed"
    yield RewindPart("watcher", key, back, now, obstacle)


def _set_watching(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    user_id = event.payload["user_id"]
    if parts[0].back:
        watchers.add_watcher(actor, event.ticket_id or "", user_id=user_id)
    else:
        watchers.remove_watcher(actor, event.ticket_id or "", user_id)


def _linked(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_ticket(view, event)
    if found is None:
        return
    ticket, obstacle = found
    url = event.payload["url"]
    key = (*_subject(ticket), "link", url)
    now = view.now(key, links.find(ticket.id, url) is not None)
    back = event.event_type == "ticket.link_removed"
    yield RewindPart("link", key, back, now, obstacle)


def _set_link(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    ticket_id, payload = event.ticket_id or "", event.payload
    if parts[0].back:
        named = {name: payload[name] for name in ("url", "title", "kind")}
        links.add_link(actor, ticket_id, **named)
        return
    link = links.find(ticket_id, payload["url"])
    if link is not None:
        links.remove_link(actor, ticket_id, link.id)


def _relation(event: AuditEvent) -> TicketRelation | None:
    _, source_id, target_id, kind = relation_key(event.payload)
    return session.scalars(
        select(TicketRelation).where(
            TicketRelation.source_ticket_id == source_id,
            TicketRelation.target_ticket_id == target_id,
            TicketRelation.type == kind,
        )
    ).first()


def _related(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    """A relation; adding it needs both of its tickets, removing it one."""
    key = relation_key(event.payload)
    back = event.event_type == "ticket.relation_removed"
    ends = [session.get_one(Ticket, ticket_id) for ticket_id in key[1:3]]
    lost = [
        ticket
        for ticket in ends
        if not view.exists(_subject(ticket), is_there=not ticket.is_deleted)
    ]
    obstacle = None
    if len(lost) > (0 if back else 1):
        obstacle = next(filter(None, (gone(view, _subject(one), "ticket") for one in lost)), None)
        if obstacle is None:
            return
    now = view.now(key, _relation(event) is not None)
    yield RewindPart("relation", key, back, now, obstacle)


def _set_relation(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    _, source_id, target_id, kind = relation_key(event.payload)
    if parts[0].back:
        relations.create_relation(actor, source_id, type=kind, target_ticket_id=target_id)
        return
    relation = _relation(event)
    if relation is not None:
        source = session.get_one(Ticket, source_id)
        live_id = target_id if source.is_deleted else source_id
        relations.delete_relation(actor, live_id, relation.id)


def _comment(event: AuditEvent) -> tuple[Comment, Key]:
    comment = session.get_one(Comment, event.payload["comment_id"])
    return comment, ("comment", comment.id)


def _comment_stands(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    """The existence of the comment; a comment that others wrote on later is not deleted."""
    found = _on_ticket(view, event)
    if found is None:
        return
    obstacle: OtherWrite | str | None = found[1]
    comment, subject = _comment(event)
    back = event.event_type == "comment.deleted"
    now = view.exists(subject, is_there=not comment.is_deleted)
    if not back and obstacle is None:
        obstacle = view.others.since((*subject, ANYTHING), event) or _reactions_of_others(
            view, comment
        )
    yield existing(subject, back=back, now=now, obstacle=obstacle)


def _reactions_of_others(view: RewindView, comment: Comment) -> str | None:
    of_others = select(CommentReaction.user_id).where(
        CommentReaction.comment_id == comment.id, CommentReaction.user_id != view.scope.user_id
    )
    is_used = session.scalar(of_others.limit(1)) is not None
    return messages.OTHERS_REACTED if is_used else None


def _set_comment(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    verb = service.restore_comment if parts[0].back else comments.delete_comment
    verb(actor, event.payload["comment_id"])


def _on_comment(view: RewindView, event: AuditEvent) -> tuple[Comment, str | None] | None:
    """The event's comment, and the obstacle if it or its ticket is deleted.

    None if a rewind deleted one of them.
    """
    found = _on_ticket(view, event)
    if found is None:
        return None
    comment, subject = _comment(event)
    if view.exists(subject, is_there=not comment.is_deleted):
        return comment, found[1]
    obstacle = gone(view, subject, "comment")
    return (comment, obstacle) if obstacle else None


def _comment_edited(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_comment(view, event)
    if found is not None:
        comment, obstacle = found
        key = ("comment", comment.id, "body")
        back = event.payload["previous_body"]
        yield RewindPart("body", key, back, view.now(key, comment.body), obstacle)


def _put_text_back(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    comments.take_back_edit(actor, event.payload["comment_id"], body=parts[0].back)


def _reacted(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    found = _on_comment(view, event)
    if found is not None:
        comment, obstacle = found
        key = reaction_key(event)
        now = view.now(key, reactions.is_reacted(comment.id, key[-2], key[-1]))
        back = event.payload["action"] == "removed"
        yield RewindPart("reaction", key, back, now, obstacle)


def _set_reaction(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    _, comment_id, _, user_id, reaction = parts[0].key
    is_added = bool(parts[0].back)
    reactions.put_back_reaction(actor, comment_id, reaction, user_id=user_id, is_added=is_added)


WAYS = {
    "ticket.created": Way(_begun, _set_existence),
    "ticket.restored": Way(_begun, _set_existence),
    "ticket.deleted": Way(_ended, _set_existence),
    "ticket.updated": Way(_updated, _put_fields_back),
    "ticket.state_changed": Way(_moved, _move_back),
    "ticket.assigned": Way(_assigned, _put_fields_back),
    "ticket.watcher_added": Way(_watching, _set_watching),
    "ticket.watcher_removed": Way(_watching, _set_watching),
    "ticket.relation_added": Way(_related, _set_relation),
    "ticket.relation_removed": Way(_related, _set_relation),
    "ticket.link_added": Way(_linked, _set_link),
    "ticket.link_removed": Way(_linked, _set_link),
    "comment.created": Way(_comment_stands, _set_comment),
    "comment.deleted": Way(_comment_stands, _set_comment),
    "comment.restored": Way(_comment_stands, _set_comment),
    "comment.updated": Way(_comment_edited, _put_text_back),
    "comment.reacted": Way(_reacted, _set_reaction),
}
