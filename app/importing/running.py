"""Importing planned issues as tickets, or a dry run. Running an import again adds nothing twice.

An issue is written with its labels and comments in one savepoint. Issues of earlier runs are known
by their external ids. Each batch locks the project and loads those ids again, so concurrent runs
create nothing twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sqlalchemy import Table, insert, select

from app.core import ids, text
from app.core.actor import Actor
from app.core.errors import DomainError
from app.database.session import Prepared, reading, run_write, savepoint, session
from app.importing.drafting import Drafter, DraftTicket
from app.importing.issues import Issue
from app.importing.linking import RelationLinker
from app.importing.planning import Planned
from app.importing.report import ImportReport, ReportRow
from app.projects import labels
from app.projects import loaders as projects
from app.projects.models import Label
from app.tickets import comments, creating, links
from app.tickets.models import ImportedIssue, RelationType, Ticket, TicketType

# Small, as other writers wait for the project's ticket counter during a batch.
BATCH = 20
# What the report calls tickets of each type.
CREATED_AS = {
    TicketType.EPIC: "epics",
    TicketType.STORY: "stories",
    TicketType.SUBTASK: "subtasks",
}

_INSERT = Prepared(insert(cast("Table", ImportedIssue.__table__)))

# Called with the number of issues that a step handled.
Progress = Callable[[int], None]
# Runs work as one writing unit of work, perhaps several times, and returns its result.
Write = Callable[[Callable[[], int]], int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The importer's state before a batch, restored when the unit of work runs again.

    What only grows is restored by its length.
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
    """One run into one project, by one human; ``usernames`` maps names of the file.

    With ``most`` the run stops after that many created tickets, comments, labels and relations.
    ``left`` counts the issues that are left then, ``unlinked`` those whose relations are left.
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
        most: int | None = None,
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
        self._most = most

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Write the tickets, then the relations between them."""
        with reading():
            self._load_earlier_runs()
        done = self._in_batches(planned, self._import_issue, progress)
        for entry in planned[done:]:
            if not self._is_skipped(entry.issue):
                self._add_row(entry.issue, "pending")
                self.left += 1
        if not self.left:
            related = [entry for entry in planned if self._links.is_needed(entry)]
            linked = self._in_batches(related, self._links.link, lambda _: None)
            self.unlinked = len(related) - linked

    def _in_batches(
        self, planned: Sequence[Planned], each: Callable[[Planned], None], progress: Progress
    ) -> int:
        """Call ``each`` for the entries until ``most`` is reached; for how many it was called."""
        done = 0
        while done < len(planned) and not self._is_enough():
            batch = planned[done : done + BATCH]
            count = self._write_unit(partial(self._run_batch, self._snapshot(), batch, each))
            progress(count)
            done += count
        return done

    def _run_batch(
        self, snapshot: Snapshot, batch: Sequence[Planned], each: Callable[[Planned], None]
    ) -> int:
        self._restore(snapshot)
        projects.writable(self.actor, self.project_id, lock=True)
        self._load_project()
        self._load_imported([entry.issue.id for entry in batch])
        for number, entry in enumerate(batch):
            if self._is_enough():
                return number
            each(entry)
        return len(batch)

    def _is_enough(self) -> bool:
        return self._most is not None and self.report.created.total() >= self._most

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
        self._links.remember(self.project_id)

    def _load_imported(self, external_ids: list[str] | None) -> None:
        """Load what these issues became, or all that the project imported."""
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
        """Whether the issue is imported already or was deleted, which the report then says."""
        if issue.id in self.ticket_ids:
            ticket = self._display_ids.get(issue.id, "")
            self._add_row(issue, "already imported", ticket=ticket)
            return True
        if issue.is_deleted:
            self.report.note(issue.id, "deleted in the other tracker; skipped")
            self._add_row(issue, "skipped")
            return True
        return False

    def _import_issue(self, entry: Planned) -> None:
        issue = entry.issue
        if self._is_skipped(issue):
            return
        label_ids = dict(self._labels)
        try:
            with savepoint():
                self._create(entry)
        except DomainError as error:
            self._labels = label_ids
            self.report.note(issue.id, "rejected", error.message)
            self._add_row(issue, "skipped")

    def _create(self, entry: Planned) -> None:
        draft = self._drafter.draft(entry.issue)
        kind, parent_id = self._type_and_parent(entry)
        labels_before = len(self._labels)
        ticket_id, display_id = self._write(draft, kind, parent_id)
        self.ticket_ids[entry.issue.id] = ticket_id
        created = self.report.created
        if len(self._labels) > labels_before:
            created["labels"] += len(self._labels) - labels_before
        created[CREATED_AS[kind]] += 1
        if draft.comments:
            created["comments"] += len(draft.comments)
        if draft.pages:
            created["links"] += len(draft.pages)
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
        self, draft: DraftTicket, kind: TicketType, parent_id: str | None
    ) -> tuple[str, str]:
        """Write the ticket with its comments; its id and display id."""
        ticket = creating.create_ticket(
            self.actor,
            self.project_id,
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
            written_at=draft.written_at,
        )
        for title, url in draft.pages:
            links.add_link(self.actor, ticket.id, url=url, title=title or None)
        if draft.comments:
            comments.import_comments(self.actor, ticket.id, draft.comments)
        _INSERT.all(
            id=ids.new_id(),
            project_id=self.project_id,
            external_id=draft.issue.id,
            ticket_id=ticket.id,
            created_at=ids.created_ms(ticket.id),
        )
        return ticket.id, ticket.display_id

    def _type_and_parent(self, entry: Planned) -> tuple[TicketType, str | None]:
        """The planned type and parent; a story where the parent was not imported."""
        if entry.parent_id is None:
            return entry.type, None
        parent_id = self.ticket_ids.get(entry.parent_id)
        if parent_id is not None:
            return entry.type, parent_id
        self.report.note(entry.issue.id, "parent was not imported", entry.parent_id)
        return TicketType.STORY, None

    def _label(self, name: str) -> str:
        name = name.strip()[: text.NAME_LENGTH]
        key = text.same_name(name)
        if key not in self._labels:
            self._labels[key] = self._new_label(name)
        return self._labels[key]

    def _new_label(self, name: str) -> str:
        return labels.create_label(self.actor, self.project_id, name=name).id


class DryRunLinker(RelationLinker):
    """Counts relations and writes none."""

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        pass


class DryRun(Importer):
    """Reports what a run would create and could not map, except for refusals by the verbs.

    With ``explains_all`` it also notes what could not be mapped of issues that exist already.
    """

    linker = DryRunLinker
    explains_all = False

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        with reading():
            self._load_earlier_runs()
            self._load_project()
            for entry in planned:
                if not self._is_skipped(entry.issue):
                    self._create(entry)
                elif self.explains_all and not entry.issue.is_deleted:
                    self._drafter.draft(entry.issue)
                progress(1)
            for entry in planned:
                self._links.link(entry)

    def explain(self, planned: Sequence[Planned]) -> None:
        self.explains_all = True
        self.run(planned, lambda _: None)

    def _write(
        self, draft: DraftTicket, kind: TicketType, parent_id: str | None
    ) -> tuple[str, str]:
        for name in draft.labels:
            self._label(name)
        return ids.new_id(), ""

    def _new_label(self, name: str) -> str:
        return ids.new_id()
