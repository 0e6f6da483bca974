"""Ticket verbs: change, move, delete and restore. ``creating.py`` creates, ``read.py`` reads."""

from typing import Any, Literal

from app.accounts import user_refs
from app.audit import deletions
from app.audit.service import record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import next_version
from app.core.errors import Conflict, Forbidden, InvalidField
from app.core.etag import check_if_match
from app.database.session import AnyRow, pipeline, session
from app.database.versions import apply_changes, touch
from app.projects import labels, states
from app.projects import loaders as projects
from app.projects.models import StateCategory
from app.tickets import (
    comments,
    creating,
    loaders,
    messages,
    rank,
    searching,
    sign_off,
    stalled_bots,
)
from app.tickets.discussion import discussed
from app.tickets.models import Comment, Ticket
from app.tickets.rank import Placement
from app.tickets.ticket_labels import label_ids_of, replace_labels


@operation(Access.WRITE)
def restore_ticket(actor: Actor, reference: str) -> Ticket:
    """Restore a deleted ticket with its comments, relations and number.

    If its state is deleted, the ticket gets the project's first state. Raises NotFound, Gone
    for a deleted project, Conflict if the ticket is not deleted, and Forbidden.
    """
    ticket = loaders.writable(actor, reference, include_deleted=True)
    if not ticket.is_deleted:
        raise Conflict("invariant_violation", messages.ticket_not_deleted(ticket.display_id))
    deletions.check_own(actor, "ticket.deleted", ticket_id=ticket.id)
    ticket.deleted_at = None
    state = states.locked(ticket.state_id) if ticket.state_id else None
    state = state or projects.first_state(ticket.project_id)
    if state.category == StateCategory.DONE:
        sign_off.check_done(actor, ticket.project_id)
    ticket.state_id = state.id
    touch(ticket)
    session.flush()
    searching.put(ticket)
    record(
        actor,
        "ticket.restored",
        loaders.target(ticket),
        display_id=ticket.display_id,
        title=ticket.title,
        state_id=ticket.state_id,
    )
    return ticket


@operation(Access.WRITE)
def restore_comment(actor: Actor, comment_id: str) -> Comment:
    """Restore a deleted comment.

    Raises NotFound, Gone for a deleted ticket, Conflict if it is not deleted, and Forbidden.
    """
    comment, ticket = loaders.writable_comment(actor, comment_id, include_deleted=True)
    if not comment.is_deleted:
        raise Conflict("invariant_violation", messages.COMMENT_NOT_DELETED)
    deletions.check_own(actor, "comment.deleted", ticket_id=ticket.id, comment_id=comment.id)
    comment.deleted_at = None
    touch(comment)
    session.flush()
    searching.put(ticket)
    discussed(ticket.id, comment.updated_at)
    record(actor, "comment.restored", loaders.target(ticket), comment_id=comment.id)
    return comment


# The default of arguments for which None is a value.
ABSENT: Any = object()


@operation(Access.WRITE)
def update_ticket(
    actor: Actor,
    /,
    reference: str | Ticket,
    *,
    if_match: str | None = None,
    expected_assignee_user_id: str | None = ABSENT,
    **fields: Any,
) -> Ticket:
    """Change fields of a ticket; a field that keeps its value is not recorded.

    ``add_label_ids`` and ``remove_label_ids`` change some labels, ``label_ids`` replaces all.
    Raises Conflict ``etag_mismatch`` or ``assignee_mismatch``, Forbidden, InvalidField.
    """
    ticket = loaders.writable(actor, reference)
    check_if_match(if_match, ticket.etag)
    check_assignee(ticket, expected_assignee_user_id)
    if expected_assignee_user_id is ABSENT and fields.get("assignee_user_id") == actor.id:
        _check_taken_over(actor, ticket)
    _check_fields(actor, ticket, fields)
    label_ids = fields.pop("label_ids", None)
    assignee_before = ticket.assignee_user_id
    changed = apply_changes(ticket, fields)
    if label_ids is not None:
        before = label_ids_of(ticket)
        if set(before) != set(label_ids):
            replace_labels(ticket, label_ids)
            changed["label_ids"] = {"from": before, "to": sorted(label_ids)}
            if len(changed) == 1:
                touch(ticket)
    if changed:
        session.flush()
        with pipeline():
            if changed.keys() & {"title", "body"}:
                searching.put(ticket)
            _record_update(actor, ticket, changed, assignee_before)
    return ticket


def _check_taken_over(actor: Actor, ticket: Ticket) -> None:
    """Raise InvalidField if a bot takes over a ticket of a stalled bot without naming it."""
    is_held = not actor.is_human and ticket.assignee_user_id not in (None, actor.id)
    if is_held and stalled_bots.stalled_since_by_id([ticket.id]):
        raise InvalidField(
            "expected_assignee_user_id",
            "required",
            messages.ASSIGNED_TO_A_BOT,
        )


def check_assignee(ticket: Ticket, expected: str | None) -> None:
    """Raise Conflict ``assignee_mismatch`` unless the ticket has the expected assignee.

    The row is locked, and the UPDATE compares its version. So exactly one of two concurrent claims
    succeeds.
    """
    if expected is ABSENT or ticket.assignee_user_id == expected:
        return
    holder = ticket.assignee_user_id
    raise Conflict(
        "assignee_mismatch",
        messages.OTHER_ASSIGNEE,
        assignee=user_refs.summaries([holder])[holder] if holder else None,
    )


def _check_fields(actor: Actor, ticket: Ticket, fields: dict[str, Any]) -> None:
    """Check the new values, and normalize them in place: titles stripped, ids as stored."""
    if "reporter_user_id" in fields:
        if not actor.is_human:
            raise Forbidden("humans_only")
        if fields["reporter_user_id"] != ticket.reporter_user_id:
            user = user_refs.active_in_project(
                fields["reporter_user_id"], ticket.project_id, "reporter_user_id"
            )
            fields["reporter_user_id"] = user.id
    places = fields.keys() & {"rank_after", "rank_before"}
    if places:
        fields["rank"] = _rank(actor, ticket, {name: fields.pop(name) for name in places})
    creating.check_values(fields)
    assignee = fields.get("assignee_user_id")
    if assignee is not None and assignee != ticket.assignee_user_id:
        user = user_refs.active_in_project(assignee, ticket.project_id, "assignee_user_id")
        fields["assignee_user_id"] = user.id
    if "parent_ticket_id" in fields and fields["parent_ticket_id"] != ticket.parent_ticket_id:
        parent = creating.checked_parent(ticket.project_id, ticket.type, fields["parent_ticket_id"])
        fields["parent_ticket_id"] = parent.id if parent else None
    if fields.keys() & {"add_label_ids", "remove_label_ids"}:
        fields["label_ids"] = _label_ids(ticket, fields)
    elif "label_ids" in fields:
        chosen = labels.named_in_body(ticket.project_id, fields["label_ids"])
        fields["label_ids"] = [label.id for label in chosen]


def _label_ids(ticket: Ticket, fields: dict[str, Any]) -> list[str]:
    """The labels after adding and removing some, taken from the fields; raises InvalidField."""
    if "label_ids" in fields:
        message = messages.LABELS_ALL_OR_CHANGES
        raise InvalidField("label_ids", "conflict", message)
    project_id, name = ticket.project_id, "remove_label_ids"
    removed = {label.id for label in labels.named_in_body(project_id, fields.pop(name, ()), name)}
    kept = [label_id for label_id in label_ids_of(ticket) if label_id not in removed]
    name = "add_label_ids"
    chosen = labels.named_in_body(project_id, [*kept, *fields.pop(name, ())], name)
    return [label.id for label in chosen]


def _rank(actor: Actor, ticket: Ticket, places: dict[str, str | None]) -> str:
    """The rank for ``rank_after`` or ``rank_before``; raises InvalidField."""
    if len(places) > 1:
        raise InvalidField("rank_before", "conflict", messages.ONE_OF_RANK_AFTER_AND_BEFORE)
    ((field, neighbor_id),) = places.items()
    neighbor = loaders.named_in_body(actor, neighbor_id) if neighbor_id is not None else None
    if neighbor_id is not None and (neighbor is None or neighbor.project_id != ticket.project_id):
        raise InvalidField(field, "not_found", messages.NEIGHBOR_OF_OTHER_PROJECT)
    if neighbor is not None and neighbor.id == ticket.id:
        raise InvalidField(field, "same_ticket", messages.BESIDE_ITSELF)
    side: Literal["after", "before"] = "after" if field == "rank_after" else "before"
    return rank.rank_for(ticket, Placement(side, neighbor))


def _record_update(
    actor: Actor, ticket: Ticket, changed: dict[str, Any], assignee_before: str | None
) -> None:
    """Record ``ticket.assigned`` for a new assignee, ``ticket.updated`` for everything else."""
    target = loaders.target(ticket)
    assignee = ticket.assignee_user_id
    if "assignee_user_id" in changed and assignee is not None:
        changed = {
            field: change for field, change in changed.items() if field != "assignee_user_id"
        }
        record(
            actor,
            "ticket.assigned",
            target,
            from_user_id=assignee_before,
            assignee_user_id=assignee,
            assignee_username=user_refs.summaries([assignee])[assignee]["username"],
        )
    if changed:
        record(actor, "ticket.updated", target, changes=changed)


@operation(Access.WRITE)
def transition_ticket(
    actor: Actor,
    reference: str | Ticket,
    *,
    state_id: str,
    comment: str | None = None,
    expected_assignee_user_id: str | None = ABSENT,
) -> Ticket:
    """Move a ticket to any state of its project, optionally with a comment.

    A move to its current state changes and records nothing, but adds the comment. Raises Forbidden
    ``sign_off_required``.
    """
    ticket = loaders.writable(actor, reference)
    check_assignee(ticket, expected_assignee_user_id)
    before, after = projects.states_of_move(ticket.project_id, ticket.state_id, state_id)
    if comment is not None:
        text.filled_body(comment, "comment")
    if ticket.state_id != after.id:
        _move(actor, ticket, before, after)
    if comment is not None:
        comments.add(actor, ticket, comment)
    return ticket


def _move(actor: Actor, ticket: Ticket, before: AnyRow | None, after: AnyRow) -> None:
    if after.category == StateCategory.DONE:
        sign_off.check_done(actor, ticket.project_id)
    apply_changes(ticket, {"state_id": after.id})
    session.flush()
    with pipeline():
        record(
            actor,
            "ticket.state_changed",
            loaders.target(ticket),
            from_state_id=before.id if before else None,
            from_state_name=before.name if before else None,
            to_state_id=after.id,
            to_state_name=after.name,
        )


@operation(Access.WRITE)
def delete_ticket(actor: Actor, reference: str | Ticket, *, if_match: str | None = None) -> None:
    """Soft-delete a ticket; its children are not deleted."""
    ticket = loaders.writable(actor, reference)
    check_if_match(if_match, ticket.etag)
    ticket.deleted_at = ticket.updated_at = next_version(ticket.updated_at)
    session.flush()
    searching.remove(ticket)
    record(
        actor,
        "ticket.deleted",
        loaders.target(ticket),
        display_id=ticket.display_id,
        title=ticket.title,
    )
