"""Importing planned issues as tickets. Running an import again adds nothing twice.

An issue is written completely or not at all. External ids identify the issues of earlier runs.
Each batch locks the project and reloads those ids, so concurrent runs create nothing twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast

from sqlalchemy import Table, insert, select

from app.attachments import service as attachments
from app.attachments.service import ImportedFile
from app.core import ids, text
from app.core.actor import Actor
from app.core.errors import DomainError, InvalidField
from app.database.session import Prepared, reading, run_write, savepoint, session
from app.files.adding import PreparedFile
from app.importing import issue_files, messages
from app.importing.drafting import Drafter, DraftTicket
from app.importing.file_links import with_stored
from app.importing.issue_files import FilesOfIssues, FileSupply, SuppliedFiles
from app.importing.issues import Issue
from app.importing.linking import RelationLinker
from app.importing.planning import Planned
from app.importing.report import ImportReport, ReportRow
from app.projects import labels
from app.projects import loaders as projects
from app.projects.models import Label
from app.search import index
from app.tickets import links
from app.tickets.importing import import_ticket
from app.tickets.models import ImportedIssue, Ticket, TicketType

# Small, as other writers wait for the project's ticket counter during a batch.
BATCH = 50
# The search index is flushed once per this many issues.
ISSUES_PER_FLUSH = 400
# The report's words for tickets of each type.
CREATED_AS = {
    TicketType.EPIC: "epics",
    TicketType.STORY: "stories",
    TicketType.SUBTASK: "subtasks",
}

_INSERT = Prepared(insert(cast("Table", ImportedIssue.__table__)))
_NO_FILES = SuppliedFiles()

# Gets the number of issues that a step handled.
Progress = Callable[[int], None]
# Runs work in one writing unit of work, possibly several times, and returns its result.
Write = Callable[[Callable[[], int]], int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The importer's state before a batch, restored when the unit of work runs again.

    Collections that only grow are restored by length.
    """

    ticket_ids: int
    edges: int
    created: dict[str, int]
    notes: int
    rows: int


def _shorten(grown: dict[Any, Any], length: int) -> None:
    while len(grown) > length:
        grown.popitem()


class Importer:
    """One run into one project, by one human; ``usernames`` maps names in the file.

    Files that were gone in the other tracker are only requested again with ``asks_for_gone``. With
    ``max_created`` the run stops after that many created tickets, comments, labels and relations.
    Then ``left`` counts the remaining issues, ``unlinked`` those with remaining relations.
    """

    linker = RelationLinker

    def __init__(
        self,
        actor: Actor,
        project_id: str,
        report: ImportReport,
        usernames: Mapping[str, str],
        *,
        write: Write = run_write,
        max_created: int | None = None,
        supply: FileSupply | None = None,
        asks_for_gone: bool = False,
    ) -> None:
        self.actor = actor
        self.project_id = project_id
        self.report = report
        self.usernames = usernames
        self.left = 0
        self.unlinked = 0
        self.ticket_ids: dict[str, str] = {}
        self._display_ids: dict[str, str] = {}
        self._links = self.linker(actor, report, self.ticket_ids)
        self._write_unit = write
        self._max_created = max_created
        self._supply = supply
        self._prepared: FilesOfIssues = {}
        self._asks_for_gone = asks_for_gone
        self._gone: dict[str, list[str]] = {}
        self._labels: dict[str, str] = {}

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Write the tickets, then the relations between them."""
        with reading():
            self._load_earlier_runs()
        done = self._in_batches(planned, self._import_batch, progress)
        for entry in planned[done:]:
            if not self._is_skipped(entry.issue):
                self._add_row(entry.issue, "pending")
                self.left += 1
        if not self.left:
            related = [entry for entry in planned if self._links.is_needed(entry)]
            linked = self._in_batches(related, self._link_batch, lambda _: None)
            self.unlinked = len(related) - linked

    def _in_batches(
        self,
        planned: Sequence[Planned],
        handle: Callable[[Sequence[Planned]], int],
        progress: Progress,
    ) -> int:
        """Handle entries in batches until ``max_created`` is reached; returns how many."""
        done = flushed = 0
        while done < len(planned) and not self._is_enough():
            batch = planned[done : done + BATCH]
            if handle == self._import_batch:
                with self._with_files(batch) as ready:
                    count = self._handled(ready, handle)
            else:
                count = self._handled(batch, handle)
            progress(count)
            done += count
            if self._max_created is None and done - flushed >= ISSUES_PER_FLUSH:
                index.flush(own=True)
                flushed = done
        return done

    def _handled(self, batch: Sequence[Planned], handle: Callable[[Sequence[Planned]], int]) -> int:
        """Handle entries of a batch in one unit of work; returns how many."""
        before = self._snapshot()

        def work() -> int:
            self._restore(before)
            self._project = projects.writable(self.actor, self.project_id, lock=True)
            self._load_project()
            self._load_imported([entry.issue.id for entry in batch])
            return handle(batch)

        return self._write_unit(work)

    @contextmanager
    def _with_files(self, batch: Sequence[Planned]) -> Iterator[Sequence[Planned]]:
        """The first entries of a batch, up to one whose files are not prepared."""
        if self._supply is None or not any(entry.issue.files for entry in batch):
            yield batch
            return
        with reading():
            wanted = issue_files.lacking(
                [entry.issue for entry in batch if not entry.issue.is_deleted],
                self.ticket_ids,
                self._gone,
            )
        with self._supply.prepared(wanted, self.report) as prepared:
            self._prepared = prepared
            late = {issue.id for issue in wanted if issue.id not in prepared}
            yield list(takewhile(lambda entry: entry.issue.id not in late, batch))
        self._prepared = {}

    def _import_batch(self, batch: Sequence[Planned]) -> int:
        """Import all issues in one savepoint; if one is refused, each in a separate savepoint."""
        labels, before = dict(self._labels), self._snapshot()
        try:
            with savepoint():
                return self._each(batch, self._import_issue)
        except DomainError:
            self._labels = labels
            self._restore(before)
        return self._each(batch, self._import_or_refuse)

    def _link_batch(self, batch: Sequence[Planned]) -> int:
        return self._each(batch, self._links.link)

    def _each(self, batch: Sequence[Planned], each: Callable[[Planned], None]) -> int:
        for number, entry in enumerate(batch):
            if self._is_enough():
                return number
            each(entry)
        return len(batch)

    def _is_enough(self) -> bool:
        return self._max_created is not None and self.report.created.total() >= self._max_created

    def _snapshot(self) -> Snapshot:
        report = self.report
        return Snapshot(
            len(self.ticket_ids),
            len(self._links.edges),
            dict(report.created),
            len(report.notes),
            len(report.rows),
        )

    def _restore(self, snapshot: Snapshot) -> None:
        _shorten(self.ticket_ids, snapshot.ticket_ids)
        _shorten(self._links.edges, snapshot.edges)
        self.report.created.clear()
        self.report.created.update(snapshot.created)
        del self.report.notes[snapshot.notes :], self.report.rows[snapshot.rows :]

    def _load_earlier_runs(self) -> None:
        self._load_imported(None)
        if not self._asks_for_gone:
            self._gone = issue_files.gone_of(self.project_id)
        self._links.remember(self.project_id)

    def _load_imported(self, external_ids: list[str] | None) -> None:
        """Load the tickets of these issues, or of all issues imported into the project."""
        statement = (
            select(ImportedIssue.external_id, ImportedIssue.ticket_id, Ticket.display_id)
            .join(Ticket, Ticket.id == ImportedIssue.ticket_id)
            .where(ImportedIssue.project_id == self.project_id)
        )
        if external_ids is not None:
            statement = statement.where(ImportedIssue.external_id.in_(external_ids))
        for row in session.execute(statement):
            self.ticket_ids[row.external_id] = row.ticket_id
            self._display_ids[row.external_id] = row.display_id

    def _load_project(self) -> None:
        self._drafter = Drafter(self.project_id, self.report, self.usernames)
        rows = session.scalars(select(Label).where(Label.project_id == self.project_id))
        self._labels = {label.name_key: label.id for label in rows}

    def _add_row(self, issue: Issue, outcome: str, **fields: str) -> None:
        fields = {"title": issue.title} | fields
        self.report.rows.append(ReportRow(issue.where, issue.id, outcome, **fields))

    def _is_skipped(self, issue: Issue) -> bool:
        """Whether the issue is already imported or was deleted; adds that to the report."""
        if issue.id in self.ticket_ids:
            ticket = self._display_ids.get(issue.id, "")
            self._add_row(issue, messages.ALREADY_IMPORTED, ticket=ticket)
            return True
        if issue.is_deleted:
            self.report.note(issue.id, messages.DELETED_THERE)
            self._add_row(issue, "skipped")
            return True
        return False

    def _import_issue(self, entry: Planned, *, has_room: bool = True) -> None:
        supplied = self._prepared.get(entry.issue.id, _NO_FILES)
        files = supplied.files if has_room else {}
        ticket_id = self.ticket_ids.get(entry.issue.id)
        if files and ticket_id is not None:
            try:
                with savepoint():
                    added = issue_files.add_late(
                        self.actor, self.project_id, entry.issue.id, ticket_id, files
                    )
                if added:
                    self.report.created["files"] += added
            except DomainError as error:
                self._note_left(entry.issue, files, error)
        if not self._is_skipped(entry.issue):
            self._create(entry, files)
        if supplied.gone:
            issue_files.keep_gone(self.project_id, entry.issue.id, supplied.gone)

    def _note_left(self, issue: Issue, addresses: Iterable[str], error: DomainError) -> None:
        for address in addresses:
            self.report.note(issue.id, messages.file_not_imported(error.message), address)

    def _import_or_refuse(self, entry: Planned, *, has_room: bool = True) -> None:
        issue, files = entry.issue, self._prepared.get(entry.issue.id, _NO_FILES).files
        labels, before = dict(self._labels), self._snapshot()
        try:
            with savepoint():
                self._import_issue(entry, has_room=has_room)
        except DomainError as error:
            self._labels = labels
            if has_room and files and _is_full(error):
                self._restore(before)
                self._note_left(issue, files, error)
                self._import_or_refuse(entry, has_room=False)
                return
            self.report.note(issue.id, "rejected", error.message)
            self._add_row(issue, "skipped")

    def _create(self, entry: Planned, files: Mapping[str, PreparedFile]) -> None:
        stored, imported = issue_files.to_store(files)
        draft = self._drafter.draft(with_stored(entry.issue, stored))
        kind, parent_id = self._type_and_parent(entry)
        labels_before = len(self._labels)
        ticket_id, display_id = self._write(draft, kind, parent_id, imported)
        self.ticket_ids[entry.issue.id] = ticket_id
        created = self.report.created
        if len(self._labels) > labels_before:
            created["labels"] += len(self._labels) - labels_before
        created[CREATED_AS[kind]] += 1
        if draft.comments:
            created["comments"] += len(draft.comments)
        if draft.pages:
            created["links"] += len(draft.pages)
        if imported:
            created["files"] += len(imported)
        self._add_row(
            entry.issue,
            "ticket",
            title=draft.title,
            type=str(kind),
            state=draft.state.name,
            priority=str(draft.priority),
            assignee=self._drafter.people.names.get(draft.assignee_user_id or "", ""),
            ticket=display_id,
        )

    def _write(
        self,
        draft: DraftTicket,
        kind: TicketType,
        parent_id: str | None,
        files: Sequence[ImportedFile],
    ) -> tuple[str, str]:
        """Write the ticket with its comments and files; returns its id and display id."""
        imported = import_ticket(
            self.actor,
            self._project,
            title=draft.title,
            type=kind,
            body=draft.body,
            priority=draft.priority,
            state_id=draft.state.id,
            assignee_user_id=draft.assignee_user_id,
            reporter_user_id=draft.reporter_user_id,
            parent_ticket_id=parent_id,
            label_ids=[self._label(name) for name in draft.labels],
            due_date=draft.issue.due_date,
            timestamps=draft.written_at,
            comments=draft.comments,
        )
        ticket = imported.ticket
        for title, url in draft.pages:
            links.add_link(self.actor, ticket.id, url=url, title=title or None)
        if files:
            bodies = [comment.body for comment in draft.comments]
            texts = [(None, draft.body), *zip(imported.comment_ids, bodies, strict=True)]
            attachments.import_files(self.actor, ticket.id, issue_files.placed(files, texts))
        _INSERT.all(
            id=ids.new_id(),
            project_id=self.project_id,
            external_id=draft.issue.id,
            ticket_id=ticket.id,
            created_at=ids.created_ms(ticket.id),
            gone_files=None,
        )
        return ticket.id, ticket.display_id

    def _type_and_parent(self, entry: Planned) -> tuple[TicketType, str | None]:
        """The planned type and parent; a story if the parent was not imported."""
        if entry.parent_id is None:
            return entry.type, None
        parent_id = self.ticket_ids.get(entry.parent_id)
        if parent_id is not None:
            return entry.type, parent_id
        self.report.note(entry.issue.id, messages.PARENT_NOT_IMPORTED, entry.parent_id)
        return TicketType.STORY, None

    def _label(self, name: str) -> str:
        key = text.name_key(name)
        if key not in self._labels:
            self._labels[key] = self._new_label(name)
        return self._labels[key]

    def _new_label(self, name: str) -> str:
        return labels.create_label(self.actor, self.project_id, name=name).id


def _is_full(error: DomainError) -> bool:
    """Whether the file quota is used up."""
    reason = (error.details or {}).get("reason")
    return isinstance(error, InvalidField) and reason == "quota_exceeded"
