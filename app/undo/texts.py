"""Undoing what was written: comments and wiki pages."""

from sqlalchemy import select

from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.database.session import by_id, session
from app.tickets import comments
from app.tickets import restoring as ticket_restoring
from app.tickets.models import Comment
from app.undo.plans import NOTHING_LEFT, Difference, Plan, impossible, one_value
from app.wiki import restoring, service
from app.wiki.models import WikiPage, WikiRevision


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
    return Plan(lambda: restoring.restore_page(actor, page.id))


def page_restored(actor: Actor, event: AuditEvent) -> Plan:
    """Delete it again."""
    page = _page(event, deleted=True)
    if page.is_deleted:
        return NOTHING_LEFT
    return Plan(lambda: service.delete_page(actor, page.id))
