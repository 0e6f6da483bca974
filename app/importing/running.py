"""Importing planned issues as tickets, in batches, or trying it; running it again is harmless.

An issue, its labels and its comments are one savepoint, so each is there whole or not at all; what
was imported before is known by its external id and passed over. Each batch holds the project and
looks again what is there, so that two runs at once make nothing twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import insert, select

from app.core import ids, text
from app.core.actor import Actor
from app.core.errors import DomainError
from app.database.session import reading, run_write, savepoint, session
from app.importing.drafting import Drafter, DraftTicket
from app.importing.linking import Edge, RelationLinker
from app.importing.planning import Planned
from app.importing.report import ImportReport, ReportRow
from app.projects import labels
from app.projects import loaders as projects
from app.projects.models import Label
from app.tickets import comments, creating
from app.tickets.models import ImportedIssue, RelationType, Ticket, TicketType

# Few: while they are written, others wait for the project to give them a ticket number.
BATCH = 20

Progress = Callable[[int], None]
# Runs work as one unit that writes, perhaps several times; says what the work says.
Write = Callable[[Callable[[], int]], int]


@dataclass(frozen=True, slots=True)
class ImportedIds:
    """What is there by now; a unit of work that runs anew begins with it again."""

    ticket_ids: dict[str, str]
    edges: set[Edge]
    made: dict[str, int]
    notes: int
    rows: int


class Importer:
    """One run into one project, by one human; ``known_as`` tells whom names of the file mean.

    With ``most`` the run stops when so many things (tickets, comments, labels, relations) were
    made; ``left`` says how many issues wait for the next one, ``unlinked`` how many have their
    relations still to come.
    """

    linker = RelationLinker

    def __init__(
        self,
        actor: Actor,
        project_id: str,
        report: ImportReport,
        known_as: Mapping[str, str],
        *,
        write: Write = run_write,
        most: int | None = None,
    ) -> None:
        self.actor = actor
        self.project_id = project_id
        self.report = report
        self.known_as = known_as
        self.left = 0
        self.unlinked = 0
        self.ticket_ids: dict[str, str] = {}
        self._display_ids: dict[str, str] = {}
        self._links = self.linker(actor, report, self.ticket_ids)
        self._write_unit = write
        self._most = most

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Write tickets, then the relations between them; ``progress`` hears of each issue."""
        with reading():
            self._remember_former_runs()
        done = self._in_batches(planned, self._import_issue, progress)
        for entry in planned[done:]:
            if not self._is_passed_over(entry):
                issue = entry.issue
                self.report.rows.append(ReportRow(issue.where, issue.id, "not yet", issue.title))
                self.left += 1
        if not self.left:
            linked = self._in_batches(planned, self._links.link, lambda _: None)
            self.unlinked = len(planned) - linked

    def _in_batches(
        self, planned: Sequence[Planned], each: Callable[[Planned], None], progress: Progress
    ) -> int:
        """Do it for each entry, some in one transaction; for how many it was done."""
        done = 0
        while done < len(planned) and not self._is_enough():
            batch = planned[done : done + BATCH]
            work = partial(self._import_batch, self._known(), batch, each)
            some = self._write_unit(work)
            progress(some)
            done += some
        return done

    def _import_batch(
        self, known: ImportedIds, batch: Sequence[Planned], each: Callable[[Planned], None]
    ) -> int:
        """As many of these as may be written; for the second time, if the database asks so."""
        self._go_back_to(known)
        projects.writable(self.actor, self.project_id, lock=True)
        self._load_project()
        self._remember([entry.issue.id for entry in batch])
        for number, entry in enumerate(batch):
            if self._is_enough():
                return number
            each(entry)
        return len(batch)

    def _is_enough(self) -> bool:
        return self._most is not None and self.report.made.total() >= self._most

    def _known(self) -> ImportedIds:
        report = self.report
        return ImportedIds(
            dict(self.ticket_ids),
            set(self._links.edges),
            dict(report.made),
            len(report.notes),
            len(report.rows),
        )

    def _go_back_to(self, known: ImportedIds) -> None:
        self.ticket_ids.clear()
        self.ticket_ids.update(known.ticket_ids)
        self._links.edges = set(known.edges)
        self.report.made.clear()
        self.report.made.update(known.made)
        del self.report.notes[known.notes :], self.report.rows[known.rows :]

    def _remember_former_runs(self) -> None:
        self._remember(None)
        self._links.remember(self.project_id)

    def _remember(self, external_ids: list[str] | None) -> None:
        """What these issues became, or all of this project."""
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
        self._drafter = Drafter(self.project_id, self.report, self.known_as)
        found = session.scalars(select(Label).where(Label.project_id == self.project_id))
        self._labels = {label.name_key: label.id for label in found}

    def _is_passed_over(self, entry: Planned) -> bool:
        issue = entry.issue
        if issue.id in self.ticket_ids:
            there = self._display_ids.get(issue.id, "")
            self.report.rows.append(
                ReportRow(issue.where, issue.id, "there already", issue.title, ticket=there)
            )
            return True
        if issue.is_deleted:
            self.report.note(issue.id, "was deleted where it comes from; left out")
            self.report.rows.append(ReportRow(issue.where, issue.id, "left out", issue.title))
            return True
        return False

    def _import_issue(self, entry: Planned) -> None:
        if self._is_passed_over(entry):
            return
        issue = entry.issue
        known_labels = dict(self._labels)
        draft = self._drafter.draft(entry)
        kind, parent_id = self._type_and_parent(entry)
        try:
            with savepoint():
                self._make(entry, draft, kind, parent_id)
        except DomainError as error:
            self._labels = known_labels
            self.report.note(issue.id, "was refused", error.message)
            self.report.rows.append(ReportRow(issue.where, issue.id, "left out", issue.title))

    def _make(
        self, entry: Planned, draft: DraftTicket, kind: TicketType, parent_id: str | None
    ) -> None:
        """Write the ticket and say so."""
        labels_before = len(self._labels)
        ticket_id, display_id = self._write(draft, kind, parent_id)
        self.ticket_ids[entry.issue.id] = ticket_id
        if len(self._labels) > labels_before:
            self.report.made["labels"] += len(self._labels) - labels_before
        self.report.made[f"tickets of type {kind}"] += 1
        if draft.comments:
            self.report.made["comments"] += len(draft.comments)
        self.report.rows.append(
            ReportRow(
                entry.issue.where,
                entry.issue.id,
                "ticket",
                draft.title,
                str(kind),
                draft.state.name,
                str(draft.priority),
                self._drafter.people.names.get(draft.assignee_user_id or "", ""),
                display_id,
            )
        )

    def _write(
        self, draft: DraftTicket, kind: TicketType, parent_id: str | None
    ) -> tuple[str, str]:
        """Write the ticket with all that is its own; its id and display id."""
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
        for body, written_at in draft.comments:
            comments.create_comment(self.actor, ticket.id, body=body, written_at=written_at)
        session.execute(
            insert(ImportedIssue).values(
                id=ids.new_id(),
                project_id=self.project_id,
                external_id=draft.issue.id,
                ticket_id=ticket.id,
                created_at=ids.created_ms(ticket.id),
            )
        )
        return ticket.id, ticket.display_id

    def _type_and_parent(self, entry: Planned) -> tuple[TicketType, str | None]:
        """The type and parent as planned; a story where the parent could not be imported."""
        if entry.parent_id is None:
            return entry.type, None
        parent_id = self.ticket_ids.get(entry.parent_id)
        if parent_id is not None:
            return entry.type, parent_id
        self.report.note(entry.issue.id, "has a parent that was not imported", entry.parent_id)
        return TicketType.STORY, None

    def _label(self, name: str) -> str:
        shown = name.strip()[: text.NAME_LENGTH]
        key = text.same_name(shown)
        if key not in self._labels:
            self._labels[key] = self._new_label(shown)
        return self._labels[key]

    def _new_label(self, name: str) -> str:
        return labels.create_label(self.actor, self.project_id, name=name).id


class TrialLinks(RelationLinker):
    """Relations that are counted."""

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        """Write nothing."""


class Trial(Importer):
    """Says what a run would make and could not map, but for what the verbs would refuse.

    One that ``explains_all`` also says what could not be mapped of what is there already.
    """

    linker = TrialLinks
    explains_all = False

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Count and note what a run would do."""
        with reading():
            self._remember_former_runs()
            self._load_project()
            for entry in planned:
                if self._is_passed_over(entry):
                    if self.explains_all and not entry.issue.is_deleted:
                        self._drafter.draft(entry)
                else:
                    draft = self._drafter.draft(entry)
                    kind, parent_id = self._type_and_parent(entry)
                    self._make(entry, draft, kind, parent_id)
                progress(1)
            for entry in planned:
                self._links.link(entry)

    def explain(self, planned: Sequence[Planned]) -> None:
        """As ``run``, with all notes."""
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
