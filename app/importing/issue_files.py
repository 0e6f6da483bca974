"""Files of issues: which files a ticket still lacks, and which text each belongs to."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlalchemy import Executable, select

from app.attachments.service import ImportedFile, import_files
from app.audit.service import showing_files
from app.core import ids
from app.core.actor import Actor
from app.database.session import session
from app.files.adding import PreparedFile
from app.importing.file_links import StoredAs, named_in, placing
from app.importing.issues import Issue
from app.importing.report import ImportReport
from app.tickets import links
from app.tickets.importing import rewrite_texts
from app.tickets.models import Comment, ExternalLink, ImportedIssue, Ticket

# Tickets per query of texts.
PORTION = 50


@dataclass(frozen=True, slots=True)
class SuppliedFiles:
    """Files of an issue by address in the other tracker, and the addresses that are gone."""

    files: Mapping[str, PreparedFile] = field(default_factory=dict)
    gone: Sequence[str] = ()


# By issue id.
FilesOfIssues = Mapping[str, SuppliedFiles]


class FileSupply(Protocol):
    """A source of the files of issues."""

    def prepared(
        self, issues: Sequence[Issue], report: ImportReport
    ) -> AbstractContextManager[FilesOfIssues]:
        """The files of the first issues, at least of one; notes files that are unavailable."""


def lacking(
    issues: Sequence[Issue], ticket_ids: Mapping[str, str], gone: Mapping[str, Collection[str]]
) -> list[Issue]:
    """The new issues, and the imported issues whose tickets lack files, with only those files.

    A ticket lacks a file if one of its texts or links still has the address in the tracker. Deleted
    tickets lack none. ``gone`` are the addresses to skip, by issue id.
    """
    imported = {ticket_ids[one.id]: one for one in issues if one.files and one.id in ticket_ids}
    files = {}
    for start in range(0, len(imported), PORTION):
        chosen = list(imported)[start : start + PORTION]
        live = select(Ticket.id).where(Ticket.id.in_(chosen), Ticket.deleted_at.is_(None))
        bodies = select(Ticket.id, Ticket.body).where(Ticket.id.in_(live))
        said = select(Comment.ticket_id, Comment.body).where(
            Comment.ticket_id.in_(live), Comment.deleted_at.is_(None)
        )
        pages = select(ExternalLink.ticket_id, ExternalLink.url).where(
            ExternalLink.ticket_id.in_(live)
        )
        texts, linked = _by_ticket(bodies.union_all(said)), _by_ticket(pages)
        for ticket_id in chosen:
            one = imported[ticket_id]
            named = {
                *linked[ticket_id],
                *(file.address for file in named_in(one.files, texts[ticket_id])),
            }
            named.difference_update(gone.get(one.id, ()))
            files[one.id] = tuple(file for file in one.files if file.address in named)
    return [
        replace(one, files=files[one.id]) if one.id in files else one
        for one in issues
        if files.get(one.id) or one.id not in ticket_ids
    ]


def _by_ticket(statement: Executable) -> defaultdict[str, list[str]]:
    """Texts by ticket id."""
    found = defaultdict(list)
    for ticket_id, said in session.execute(statement):
        found[ticket_id].append(said)
    return found


def gone_of(project_id: str) -> dict[str, list[str]]:
    """The addresses of files that were gone in the other tracker, by issue id."""
    rows = session.execute(
        select(ImportedIssue.external_id, ImportedIssue.gone_files).where(
            ImportedIssue.project_id == project_id, ImportedIssue.gone_files.is_not(None)
        )
    )
    return {row.external_id: row.gone_files for row in rows}


def keep_gone(project_id: str, external_id: str, addresses: Sequence[str]) -> None:
    """Store that these files of an imported issue are gone in the other tracker."""
    known = {"project_id": project_id, "external_id": external_id}
    issue = session.scalars(select(ImportedIssue).filter_by(**known)).one_or_none()
    # An issue that was deleted in the tracker has no ticket.
    if issue is not None:
        issue.gone_files = sorted({*(issue.gone_files or ()), *addresses})
        session.flush()


def to_store(
    files: Mapping[str, PreparedFile],
) -> tuple[dict[str, StoredAs], list[ImportedFile]]:
    """Prepared files, as ``StoredAs`` by address in the tracker, and as files to add."""
    stored = {
        address: StoredAs(ids.new_id(), file.name, file.thumbnail is not None)
        for address, file in files.items()
    }
    return stored, [ImportedFile(stored[one].file_id, file) for one, file in files.items()]


def placed(
    files: Sequence[ImportedFile], texts: Sequence[tuple[str | None, str]]
) -> list[ImportedFile]:
    """Assign each file to the first text that shows it: a comment, by id, or the ticket's text."""
    return [
        replace(file, comment_id=next((one for one, body in texts if file.file_id in body), None))
        for file in files
    ]


def add_late(
    actor: Actor,
    project_id: str,
    external_id: str,
    ticket_id: str,
    files: Mapping[str, PreparedFile],
) -> int:
    """Add files that earlier runs left out or could not get, if the ticket still names them."""
    stored, imported = to_store(files)
    with showing_files():
        texts = rewrite_texts(actor, project_id, external_id, placing(stored))
        named = {one.file_id for one in imported if any(one.file_id in body for _, body in texts)}
        for address, one in stored.items():
            link = links.find(ticket_id, address)
            if link is not None:
                links.remove_link(actor, ticket_id, link.id)
                named.add(one.file_id)
    shown = [one for one in imported if one.file_id in named]
    if shown:
        import_files(actor, ticket_id, placed(shown, texts))
    return len(shown)
