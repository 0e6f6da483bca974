"""Watchers: users who follow a ticket. Mutes: people who keep it out of their inbox."""

from contextlib import suppress
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from app.accounts import user_refs
from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.errors import Forbidden, NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import savepoint, session
from app.tickets import loaders
from app.tickets.models import Ticket, TicketMute, TicketWatcher


def watcher_json(user: UserSummary, created_at: int) -> dict[str, Any]:
    return {"user_id": user["id"], "user": user, "created_at": iso(created_at)}


def _rows(ticket_id: str) -> Any:
    return (
        select(
            TicketWatcher.user_id.label("id"),
            TicketWatcher.created_at,
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == TicketWatcher.user_id)
        .where(TicketWatcher.ticket_id == ticket_id)
    )


def _json(row: Any) -> dict[str, Any]:
    user = user_summary(row.id, row.type, row.username, row.display_name)
    return watcher_json(user, row.created_at)


@operation(Access.READ)
def list_watchers(actor: Actor, reference: str, *, limit: int, cursor: str | None) -> Page:
    """The ticket's watchers, newest first."""
    return of_ticket(loaders.visible(actor, reference).id, limit=limit, cursor=cursor)


def of_ticket(ticket_id: str, *, limit: int, cursor: str | None) -> Page:
    """A ticket's watchers, newest first. The caller has checked access to the ticket."""
    return page(
        _rows(ticket_id),
        kind="watcher",
        sort=TicketWatcher.created_at,
        id_column=TicketWatcher.user_id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [_json(row) for row in rows],
    )


def is_watching(user_id: str, ticket: Ticket) -> bool:
    return session.get(TicketWatcher, (ticket.id, user_id)) is not None


@operation(Access.WRITE)
def add_watcher(
    actor: Actor, reference: str, *, user_id: str | None = None
) -> tuple[Ticket, dict[str, Any], bool]:
    """Add a watcher, the actor by default; returns the ticket, the watcher, and whether it is new.

    Raises Forbidden ``humans_only`` if a bot names another user, and InvalidField for a user that
    is inactive or does not see the project.
    """
    ticket = loaders.writable(actor, reference)
    watcher_id = user_id or actor.id
    if actor.is_bot and watcher_id != actor.user_id:
        raise Forbidden("humans_only")
    user = user_refs.active_in_project(watcher_id, ticket.project_id, "user_id")
    is_new = not is_watching(user.id, ticket)
    if is_new:
        session.execute(
            insert(TicketWatcher).values(ticket_id=ticket.id, user_id=user.id, created_at=now_ms())
        )
        target = loaders.target(ticket)
        record(actor, "ticket.watcher_added", target, user_id=user.id, username=user.username)
    if not actor.is_bot and user.id == actor.user_id:
        _delete_mute(actor, ticket.id)
    row = session.execute(_rows(ticket.id).where(TicketWatcher.user_id == user.id)).one()
    return ticket, _json(row), is_new


@operation(Access.WRITE)
def remove_watcher(actor: Actor, reference: str, user_id: str) -> None:
    """Remove a watcher; raises NotFound, and Forbidden if a bot names another user."""
    ticket = loaders.writable(actor, reference)
    watcher_id = as_uuid(user_id)
    if actor.is_bot and watcher_id != actor.user_id:
        raise Forbidden("humans_only")
    user = user_refs.find(watcher_id) if watcher_id else None
    if user is None or not is_watching(user.id, ticket):
        raise NotFound("watcher", user_id)
    session.execute(
        delete(TicketWatcher).where(
            TicketWatcher.ticket_id == ticket.id, TicketWatcher.user_id == user.id
        )
    )
    target = loaders.target(ticket)
    record(actor, "ticket.watcher_removed", target, user_id=user.id, username=user.username)


@operation(Access.HUMAN)
def mute(actor: Actor, reference: str) -> None:
    """Keep the ticket out of the person's inbox. Nobody else sees that, so it records no event."""
    ticket = loaders.visible(actor, reference)
    if session.get(TicketMute, (ticket.id, actor.id)) is None:
        with suppress(IntegrityError), savepoint():
            # Another tab of the same person may insert the row first.
            session.add(TicketMute(ticket_id=ticket.id, user_id=actor.id, created_at=now_ms()))


@operation(Access.HUMAN)
def unmute(actor: Actor, reference: str) -> None:
    """Let the ticket into the person's inbox again."""
    _delete_mute(actor, loaders.visible(actor, reference).id)


def _delete_mute(actor: Actor, ticket_id: str) -> None:
    session.execute(
        delete(TicketMute).where(TicketMute.ticket_id == ticket_id, TicketMute.user_id == actor.id)
    )
