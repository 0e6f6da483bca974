"""The verbs of files. Whoever may see a file's parent may read the file, checked per download."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select

from app.audit.service import Target, record
from app.core.actor import Access, Actor, operation
from app.core.errors import DomainError, Forbidden, NotFound, Unavailable
from app.database.pagination import Page, page
from app.database.session import AnySelect, by_id, reading, session
from app.files import adding
from app.files.adding import PreparedFile
from app.files.listing import FILES, described, files_json
from app.files.models import FileContent, StoredFile
from app.http.current import current_settings
from app.http.multipart import ReceivedFile
from app.tickets import loaders as tickets
from app.tickets import runaways
from app.tickets.discussion import discussed
from app.tickets.models import Comment
from app.wiki import loaders as wiki

KIND = "file"
# Finds the item that a file is added to, for a change; raises the errors that refuse it.
Place = Callable[[Actor, str], object]


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file that the actor may read."""

    file: StoredFile
    size: int


def prepare_for(
    place: Place, actor: Actor, reference: str, received: ReceivedFile
) -> PreparedFile | None:
    """Prepare a file; None if the actor may not add it there. Not for use in a unit of work.

    The verb then raises the reason, after looking for a stored response to a repeated request.
    """
    try:
        with reading():
            place(actor, reference)
    except DomainError:
        return None
    return adding.prepare(current_settings(), received)


def prepare_for_ticket(actor: Actor, reference: str, file: ReceivedFile) -> PreparedFile | None:
    return prepare_for(tickets.writable, actor, reference, file)


def prepare_for_comment(actor: Actor, reference: str, file: ReceivedFile) -> PreparedFile | None:
    return prepare_for(tickets.writable_comment, actor, reference, file)


def prepare_for_page(actor: Actor, reference: str, file: ReceivedFile) -> PreparedFile | None:
    return prepare_for(wiki.writable, actor, reference, file)


@operation(Access.WRITE)
def add_to_ticket(actor: Actor, reference: str, file: PreparedFile | None) -> dict[str, Any]:
    """Add a file to a ticket. Raises InvalidField ``quota_exceeded``."""
    ticket = tickets.writable(actor, reference)
    added = _add(actor, file, tickets.target(ticket), ticket_id=ticket.id)
    runaways.count_creation(actor, ticket.project_id)
    return added


@operation(Access.WRITE)
def add_to_comment(actor: Actor, comment_id: str, file: PreparedFile | None) -> dict[str, Any]:
    """Add a file to one's own comment. Raises Forbidden ``not_author``, InvalidField."""
    comment, ticket = tickets.writable_comment(actor, comment_id)
    if comment.author_user_id != actor.user_id:
        raise Forbidden("not_author")
    target = tickets.target(ticket)
    added = _add(actor, file, target, ticket_id=ticket.id, comment_id=comment.id)
    runaways.count_creation(actor, ticket.project_id)
    return added


@operation(Access.WRITE)
def add_to_page(actor: Actor, page_id: str, file: PreparedFile | None) -> dict[str, Any]:
    """Add a file to a wiki page. Raises InvalidField ``quota_exceeded``."""
    found = wiki.writable(actor, page_id)
    added = _add(actor, file, wiki.target(found), page_id=found.id)
    if found.project_id is not None:
        runaways.count_creation(actor, found.project_id)
    return added


def _add(
    actor: Actor, prepared: PreparedFile | None, target: Target, **place: str
) -> dict[str, Any]:
    if prepared is None:
        # The actor could not add the file when it was prepared, and can now: a retry succeeds.
        raise Unavailable
    settings = current_settings()
    adding.require_room(settings, prepared)
    file = adding.insert_file(settings, prepared, uploader_user_id=actor.id, **place)
    if file.ticket_id is not None:
        discussed(file.ticket_id, file.created_at)
    _record(actor, "file.added", target, file, prepared.content.size)
    return described(file.id)


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file from another tracker, on a ticket or its comment; texts already refer to its id."""

    file_id: str
    prepared: PreparedFile
    comment_id: str | None = None


@operation(Access.HUMAN)
def import_files(actor: Actor, reference: str, imported: Sequence[ImportedFile]) -> None:
    """Add files that a ticket had in another tracker. Raises InvalidField ``quota_exceeded``."""
    ticket = tickets.writable(actor, reference)
    target = tickets.target(ticket)
    settings = current_settings()
    adding.require_room(settings, *(one.prepared for one in imported))
    for one in imported:
        file = adding.insert_file(
            settings,
            one.prepared,
            uploader_user_id=actor.id,
            file_id=one.file_id,
            ticket_id=ticket.id,
            comment_id=one.comment_id,
        )
        _record(actor, "file.added", target, file, one.prepared.content.size)


def _record(actor: Actor, event_type: str, target: Target, file: StoredFile, size: int) -> None:
    record(
        actor,
        event_type,
        target,
        file_id=file.id,
        name=file.name,
        media_type=file.media_type,
        size=size,
        sha256=file.sha256,
        comment_id=file.comment_id,
    )


_OF_LIVE_COMMENTS = or_(
    StoredFile.comment_id.is_(None),
    StoredFile.comment_id.in_(select(Comment.id).where(Comment.deleted_at.is_(None))),
)


@operation(Access.READ)
def list_of_ticket(actor: Actor, reference: str, *, limit: int, cursor: str | None) -> Page:
    """The files of a ticket and of its comments, oldest first."""
    ticket = tickets.visible(actor, reference)
    of_ticket = FILES.where(StoredFile.ticket_id == ticket.id, _OF_LIVE_COMMENTS)
    return _page(of_ticket, limit, cursor)


@operation(Access.READ)
def list_of_comment(actor: Actor, comment_id: str, *, limit: int, cursor: str | None) -> Page:
    """The files of a comment, oldest first."""
    try:
        comment, ticket = tickets.visible_comment(actor, comment_id)
    except NotFound:
        # The original error would name the ticket of an invisible comment.
        raise NotFound("comment", comment_id) from None
    of_comment = FILES.where(StoredFile.ticket_id == ticket.id, StoredFile.comment_id == comment.id)
    return _page(of_comment, limit, cursor)


@operation(Access.READ)
def list_of_page(actor: Actor, page_id: str, *, limit: int, cursor: str | None) -> Page:
    """The files of a wiki page, oldest first."""
    found = wiki.visible_by_id(actor, page_id)
    return _page(FILES.where(StoredFile.page_id == found.id), limit, cursor)


def _page(statement: AnySelect, limit: int, cursor: str | None) -> Page:
    return page(
        statement,
        kind=KIND,
        sort=StoredFile.created_at,
        id_column=StoredFile.id,
        limit=limit,
        cursor=cursor,
        build=files_json,
        ascending=True,
    )


@operation(Access.READ)
def get_file(actor: Actor, file_id: str) -> SeenFile:
    """The file, if the actor may see its parent; raises NotFound or Gone."""
    file = _found(file_id)
    try:
        if file.page_id is not None:
            wiki.visible_by_id(actor, file.page_id)
        elif file.comment_id is not None:
            tickets.visible_comment(actor, file.comment_id)
        elif file.ticket_id is not None:
            tickets.visible(actor, file.ticket_id)
    except NotFound:
        raise NotFound(KIND, file_id) from None
    return SeenFile(file, session.get_one(FileContent, file.sha256).size)


def _found(file_id: str) -> StoredFile:
    file = by_id(StoredFile, file_id)
    if file is None:
        raise NotFound(KIND, file_id)
    return file


@operation(Access.WRITE)
def delete_file(actor: Actor, file_id: str) -> None:
    """Delete a file permanently; raises Forbidden ``not_uploader`` if a bot did not upload it."""
    file = _found(file_id)
    if file.page_id is not None:
        target = wiki.target(wiki.writable(actor, file.page_id))
    elif file.comment_id is not None:
        target = tickets.target(tickets.writable_comment(actor, file.comment_id)[1])
    else:
        target = tickets.target(tickets.writable(actor, str(file.ticket_id)))
    if actor.is_bot and file.uploader_user_id != actor.user_id:
        raise Forbidden("not_uploader")
    # A concurrent deletion may have deleted the file while this one waited for the lock.
    if session.get(StoredFile, file.id, with_for_update=True, populate_existing=True) is None:
        raise NotFound(KIND, file_id)
    size = session.get_one(FileContent, file.sha256).size
    adding.remove_file(file)
    if file.ticket_id is not None:
        discussed(file.ticket_id, file.created_at)
    _record(actor, "file.deleted", target, file, size)
