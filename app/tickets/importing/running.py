"""Writing planned issues as tickets, through the verbs, in batches; again is harmless.

An issue, its labels and its comments are one savepoint, so each is there whole or not at all; what
was imported before is known by its external id and passed over.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlalchemy import insert, select

from app.core import ids, text
from app.core.actor import Actor
from app.core.db import reading, session, transaction
from app.core.errors import DomainError
from app.projects import labels
from app.projects.models import Label
from app.tickets import comments, relations, service
from app.tickets.importing.drafting import Draft, Drafter
from app.tickets.importing.issues import PARENT_LINK
from app.tickets.importing.planning import Planned
from app.tickets.importing.report import Report, Row
from app.tickets.importing.words import RELATED_WORDS
from app.tickets.models import ImportedIssue, RelationType, Ticket, TicketRelation, TicketType

BATCH = 50

Progress = Callable[[int], None]


class Importer:
    """One run into one project, by one human; ``known_as`` tells whom names of the file mean."""

    def __init__(
        self, actor: Actor, project_id: str, report: Report, known_as: Mapping[str, str]
    ) -> None:
        self.actor = actor
        self.project_id = project_id
        self.report = report
        self.known_as = known_as
        self.ticket_ids: dict[str, str] = {}
        self._display_ids: dict[str, str] = {}

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Write tickets, then the relations between them; ``progress`` hears of each issue."""
        with reading():
            self._remember_former_runs()
        for batch in _batches(planned):
            with transaction():
                self._load_project()
                for entry in batch:
                    self._import_issue(entry)
                    progress(1)
        for batch in _batches(planned):
            with transaction():
                for entry in batch:
                    self._import_relations(entry)

    def _remember_former_runs(self) -> None:
        rows = session.execute(
            select(ImportedIssue.external_id, ImportedIssue.ticket_id, Ticket.display_id)
            .join(Ticket, Ticket.id == ImportedIssue.ticket_id)
            .where(ImportedIssue.project_id == self.project_id)
        ).all()
        self.ticket_ids = {row.external_id: row.ticket_id for row in rows}
        self._display_ids = {row.external_id: row.display_id for row in rows}

    def _load_project(self) -> None:
        self._drafter = Drafter(self.project_id, self.report, self.known_as)
        found = session.scalars(select(Label).where(Label.project_id == self.project_id))
        self._labels = {label.name_key: label.id for label in found}

    def _is_passed_over(self, entry: Planned) -> bool:
        issue = entry.issue
        if issue.id in self.ticket_ids:
            there = self._display_ids.get(issue.id, "")
            self.report.rows.append(
                Row(issue.where, issue.id, "there already", issue.title, ticket=there)
            )
            return True
        if issue.is_deleted:
            self.report.note(issue.id, "was deleted where it comes from; left out")
            self.report.rows.append(Row(issue.where, issue.id, "left out", issue.title))
            return True
        return False

    def _import_issue(self, entry: Planned) -> None:
        if self._is_passed_over(entry):
            return
        issue = entry.issue
        known_labels = dict(self._labels)
        draft = self._drafter.draft(entry)
        kind, parent_id = self._place(entry)
        try:
            with session.begin_nested():
                self._make(entry, draft, kind, parent_id)
        except DomainError as error:
            self._labels = known_labels
            self.report.note(issue.id, "was refused", error.message)
            self.report.rows.append(Row(issue.where, issue.id, "left out", issue.title))

    def _make(self, entry: Planned, draft: Draft, kind: TicketType, parent_id: str | None) -> None:
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
            Row(
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

    def _write(self, draft: Draft, kind: TicketType, parent_id: str | None) -> tuple[str, str]:
        """Write the ticket with all that is its own; its id and display id."""
        ticket = service.create_ticket(
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

    def _place(self, entry: Planned) -> tuple[TicketType, str | None]:
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

    def _import_relations(self, entry: Planned) -> None:
        here = entry.issue.id
        for other in entry.related_ids:
            self._relate(here, other, RelationType.RELATES_TO)
        for link in entry.issue.links:
            if link.kind == PARENT_LINK:
                continue
            kind = RELATED_WORDS.get(link.kind)
            if kind is None:
                self.report.note(here, "has a dependency of an unknown kind", link.kind)
            elif kind is RelationType.BLOCKS:
                # "depends on" is the blocked end's view: the other one blocks this one.
                self._relate(link.other_id, here, kind, noted=here)
            else:
                self._relate(here, link.other_id, kind)

    def _relate(
        self, source: str, target: str, kind: RelationType, *, noted: str | None = None
    ) -> None:
        about = noted or source
        source_id, target_id = self.ticket_ids.get(source), self.ticket_ids.get(target)
        if source_id is None or target_id is None:
            other = target if about == source else source
            self.report.note(about, "depends on an issue that was not imported", other)
            return
        if self._is_related(source_id, target_id, kind):
            return
        try:
            self._store_relation(source_id, target_id, kind)
        except DomainError as error:
            self.report.note(about, f"has a relation that was refused: {error.message}", target)
            return
        self.report.made[f"relations of type {kind}"] += 1

    def _store_relation(self, source_id: str, target_id: str, kind: RelationType) -> None:
        with session.begin_nested():
            relations.create_relation(self.actor, source_id, type=kind, target_ticket_id=target_id)

    def _is_related(self, source_id: str, target_id: str, kind: RelationType) -> bool:
        pairs = [(source_id, target_id)]
        if kind is RelationType.RELATES_TO:
            pairs.append((target_id, source_id))
        return any(
            session.scalar(
                select(TicketRelation.id).where(
                    TicketRelation.source_ticket_id == source,
                    TicketRelation.target_ticket_id == target,
                    TicketRelation.type == kind.value,
                )
            )
            for source, target in pairs
        )


def _batches(planned: Sequence[Planned]) -> Iterator[Sequence[Planned]]:
    for start in range(0, len(planned), BATCH):
        yield planned[start : start + BATCH]
