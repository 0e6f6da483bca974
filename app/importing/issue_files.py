"""Files of issues: which of them an issue still lacks here, and on which text each hangs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select

from app.attachments.service import ImportedFile
from app.core import ids
from app.database.session import session
from app.files.adding import PreparedFile
from app.importing.file_links import StoredAs, named_in
from app.importing.issues import Issue
from app.tickets.models import Comment, Ticket

# Tickets whose texts are read at once.
PORTION = 50


def lacking(issues: Sequence[Issue], ticket_ids: Mapping[str, str]) -> list[Issue]:
    """The new ones of the issues, and those that have a ticket with the files that it lacks.

    A file is there, or nobody wants it, where no text of a live ticket names it at the tracker.
    """
    imported = {ticket_ids[one.id]: one for one in issues if one.files and one.id in ticket_ids}
    texts = defaultdict(list)
    for start in range(0, len(imported), PORTION):
        chosen = list(imported)[start : start + PORTION]
        live = select(Ticket.id).where(Ticket.id.in_(chosen), Ticket.deleted_at.is_(None))
        bodies = select(Ticket.id, Ticket.body).where(Ticket.id.in_(live))
        said = select(Comment.ticket_id, Comment.body).where(
            Comment.ticket_id.in_(live), Comment.deleted_at.is_(None)
        )
        for ticket_id, body in session.execute(bodies.union_all(said)):
            texts[ticket_id].append(body)
    files = {one.id: named_in(one.files, texts[ticket_id]) for ticket_id, one in imported.items()}
    return [
        replace(one, files=files[one.id]) if one.id in files else one
        for one in issues
        if files.get(one.id) or one.id not in ticket_ids
    ]


def to_store(
    files: Mapping[str, PreparedFile],
) -> tuple[dict[str, StoredAs], list[ImportedFile]]:
    """What becomes of prepared files: by their addresses at the tracker, and to be added."""
    stored = {
        address: StoredAs(ids.new_id(), file.name, file.thumbnail is not None)
        for address, file in files.items()
    }
    return stored, [ImportedFile(stored[one].file_id, file) for one, file in files.items()]


def placed(
    files: Sequence[ImportedFile], texts: Sequence[tuple[str | None, str]]
) -> list[ImportedFile]:
    """The files on the first text that shows each: a comment, by its id, or the ticket's own."""
    return [
        replace(file, comment_id=next((one for one, body in texts if file.file_id in body), None))
        for file in files
    ]
