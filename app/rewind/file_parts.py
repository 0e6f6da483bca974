"""Undoing what was done to files."""

from collections.abc import Iterator, Sequence

from app.attachments import service
from app.audit.models import AuditEvent
from app.core.actor import Actor
from app.database.session import by_id
from app.files.models import StoredFile
from app.rewind import messages
from app.rewind.parts import RewindPart, RewindView, Way


def _stands(view: RewindView, event: AuditEvent) -> Iterator[RewindPart]:
    file_id = event.payload["file_id"]
    place = ("ticket", event.ticket_id) if event.ticket_id else ("page", event.target_id or "")
    key = (*place, "file", file_id)
    back = event.event_type == "file.deleted"
    now = view.now(key, by_id(StoredFile, file_id) is not None)
    yield RewindPart("file", key, back, now, messages.FILE_DELETED if back else None)


def _delete(actor: Actor, event: AuditEvent, parts: Sequence[RewindPart]) -> None:
    if not parts[0].back:
        service.delete_file(actor, event.payload["file_id"])


WAYS = {"file.added": Way(_stands, _delete), "file.deleted": Way(_stands, _delete)}
