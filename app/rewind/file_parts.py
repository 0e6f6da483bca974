"""Undoing what was done to files.

A deleted file cannot be restored. So a file stays as long as a text shows it, whoever wrote the
text; the texts that the bot wrote later are undone first.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from sqlalchemy import bindparam, literal_column, select

from app.attachments import service
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.core.ids import NIL_ID
from app.database.columns import FILE_ADDRESSES, Id
from app.database.session import Prepared, by_id, session
from app.files.models import StoredFile
from app.projects.models import Project
from app.rewind import messages
from app.rewind.others import Key
from app.rewind.parts import RewindPart, RewindView, Way, shown_files
from app.sticky_notes.models import StickyNote
from app.tickets.models import Comment, Ticket, TicketTemplate
from app.wiki.models import WikiPage

# The texts that can show a file, by the kind of their subject.
_TEXTS: Mapping[str, Any] = {
    "ticket": Ticket.body,
    "comment": Comment.body,
    "page": WikiPage.body,
    "note": StickyNote.body,
    "template": TicketTemplate.body,
    "project": Project.description,
}
# Texts that are in memory at the same time.
_READ_AT_ONCE = 500


def texts_showing(events: Sequence[AuditEvent]) -> dict[str, set[Key]]:
    """The texts that show the files that the events added, by file id; also deleted texts."""
    added = {event.payload["file_id"] for event in events if event.event_type == "file.added"}
    found: dict[str, set[Key]] = {}
    if not added:
        return found
    address = f"/files/{_shared_beginning(min(added), max(added))}"
    for kind, column in _TEXTS.items():
        for subject_id, text in _texts_with(address, kind):
            for file_id in shown_files(text) & added:
                found.setdefault(file_id, set()).add((kind, subject_id, column.key))
    return found


def _shared_beginning(first: str, last: str) -> str:
    """The beginning of all ids from the first to the last; it is long if they are of one time."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=True))
    return "".join(letter for letter, _ in alike)


def _showing(column: Any) -> Prepared:
    row_id = column.class_.id
    return Prepared(
        select(row_id, column)
        .where(
            # For the indexes: no other condition excludes a text without reading it.
            column.like(literal_column(FILE_ADDRESSES)),
            column.contains(bindparam("address")),
            row_id > bindparam("after", type_=Id()),
        )
        .order_by(row_id)
        .limit(_READ_AT_ONCE)
    )


_SHOWING = {kind: _showing(column) for kind, column in _TEXTS.items()}


def _texts_with(address: str, kind: str) -> Iterator[tuple[str, str]]:
    """The ids and texts of the rows whose text contains the beginning of a file's address."""
    after = NIL_ID
    while after:
        rows = _SHOWING[kind].all(address=address, after=after)
        yield from rows
        after = rows[-1][0] if len(rows) == _READ_AT_ONCE else ""


def _is_shown(view: RewindView, file_id: str) -> bool:
    return any(_shows(view, key, file_id) for key in view.texts_showing(file_id))


def _shows(view: RewindView, key: Key, file_id: str) -> bool:
    """Whether the text is not deleted and shows the file, once the newer events are undone."""
    kind, subject_id, name = key
    row: Any = by_id(_TEXTS[kind].class_, subject_id)
    is_there = row is not None and not getattr(row, "is_deleted", False)
    if not view.exists((kind, subject_id), is_there=is_there):
        return False
    if kind == "comment":
        ticket = session.get_one(Ticket, row.ticket_id)
        if not view.exists(("ticket", ticket.id), is_there=not ticket.is_deleted):
            return False
    return file_id in view.files_of(key, getattr(row, name, ""))


def _stands(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    file_id = event.payload["file_id"]
    place = ("ticket", event.ticket_id) if event.ticket_id else ("page", event.target_id or "")
    key = (*place, "file", file_id)
    back = event.event_type == "file.deleted"
    now = view.now(key, by_id(StoredFile, file_id) is not None)
    obstacle = None
    if back:
        obstacle = messages.FILE_DELETED
    elif now and _is_shown(view, file_id):
        obstacle = messages.FILE_SHOWN
    yield RewindPart("file", key, back, now, obstacle)


def _delete(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    if not parts[0].back:
        service.delete_file(actor, event.payload["file_id"])


WAYS = {"file.added": Way(_stands, _delete), "file.deleted": Way(_stands, _delete)}
