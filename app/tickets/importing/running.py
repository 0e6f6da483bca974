"""Writing planned issues as tickets, through the verbs, in batches; again is harmless.

An issue, its labels and its comments are one savepoint, so each is there whole or not at all; what
was imported before is known by its external id and passed over.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import insert, select

from app.accounts.models import User
from app.core import ids, text
from app.core.actor import Actor
from app.core.db import session, transaction
from app.core.errors import DomainError
from app.projects import labels, states
from app.projects.models import Label, Project, StateCategory, WorkflowState
from app.tickets import comments, relations, service
from app.tickets.importing.planning import PARENT_LINK, Planned
from app.tickets.importing.reading import Issue
from app.tickets.importing.report import Report
from app.tickets.models import ImportedIssue, Priority, RelationType, TicketRelation, TicketType

BATCH = 50

PRIORITIES = (Priority.URGENT, Priority.HIGH, Priority.MEDIUM, Priority.LOW, Priority.LOW)
DONE_WORDS = frozenset({"closed", "done", "resolved", "completed", "cancelled"})
WAITING_WORDS = frozenset({"open", "new", "backlog", "todo", "deferred"})
# Kinds that the ticket's type says already; all others are kept as a label.
PLAIN_KINDS = frozenset({"epic", "story", "task", "subtask"})

RELATED_WORDS = {
    "related": RelationType.RELATES_TO,
    "relates-to": RelationType.RELATES_TO,
    "relates_to": RelationType.RELATES_TO,
    "discovered-from": RelationType.RELATES_TO,
    "duplicates": RelationType.DUPLICATES,
    "blocks": RelationType.BLOCKS,
}

Progress = Callable[[int], None]


class Importer:
    """One run into one project, by one human."""

    def __init__(self, actor: Actor, project_id: str, report: Report) -> None:
        self.actor = actor
        self.project_id = project_id
        self.report = report
        self.ticket_ids: dict[str, str] = {}

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Write tickets, then the relations between them; ``progress`` hears of each issue."""
        with transaction():
            self._remember_former_runs()
            self._users = self._active_users()
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
            select(ImportedIssue.external_id, ImportedIssue.ticket_id).where(
                ImportedIssue.project_id == self.project_id
            )
        )
        self.ticket_ids = {row.external_id: row.ticket_id for row in rows}

    def _active_users(self) -> dict[str, str]:
        rows = session.execute(select(User.username, User.id).where(User.is_active))
        return {row.username: row.id for row in rows}

    def _load_project(self) -> None:
        self._project = session.get_one(Project, self.project_id)
        self._states = states.ordered(self.project_id)
        found = session.scalars(select(Label).where(Label.project_id == self.project_id))
        self._labels = {label.name_key: label.id for label in found}

    def _import_issue(self, entry: Planned) -> None:
        issue = entry.issue
        if issue.id in self.ticket_ids:
            return
        if issue.is_deleted:
            self.report.note(issue.id, "was deleted where it comes from; left out")
            return
        known_labels = dict(self._labels)
        try:
            with session.begin_nested():
                self.ticket_ids[issue.id] = self._write(entry)
        except DomainError as error:
            self._labels = known_labels
            self.report.note(issue.id, "was refused", error.message)
            return
        self.report.made[f"tickets of type {entry.type}"] += 1
        self.report.made["comments"] += len(issue.remarks)

    def _write(self, entry: Planned) -> str:
        issue = entry.issue
        kind, parent_id = self._place(entry)
        ticket = service.create_ticket(
            self.actor,
            self.project_id,
            title=issue.title[: text.NAME_LENGTH],
            type=kind,
            body=self._body(issue),
            priority=self._priority(issue),
            state_id=self._state(issue).id,
            assignee_user_id=self._users.get(issue.assignee),
            parent_ticket_id=parent_id,
            label_ids=[self._label(name) for name in self._label_names(issue)],
            written_at=self._written_at(issue),
        )
        for remark in issue.remarks:
            said = f"**{remark.author}** wrote:\n\n{remark.text}" if remark.author else remark.text
            comments.create_comment(self.actor, ticket.id, body=said, written_at=remark.written_at)
        session.execute(
            insert(ImportedIssue).values(
                id=ids.new_id(),
                project_id=self.project_id,
                external_id=issue.id[: text.NAME_LENGTH],
                ticket_id=ticket.id,
                created_at=ids.created_ms(ticket.id),
            )
        )
        return ticket.id

    def _place(self, entry: Planned) -> tuple[TicketType, str | None]:
        """The type and parent as planned; a story where the parent could not be imported."""
        if entry.parent_id is None:
            return entry.type, None
        parent_id = self.ticket_ids.get(entry.parent_id)
        if parent_id is not None:
            return entry.type, parent_id
        self.report.note(entry.issue.id, "has a parent that was not imported", entry.parent_id)
        return TicketType.STORY, None

    def _written_at(self, issue: Issue) -> tuple[int, int] | None:
        if issue.created_at is None:
            return None
        return issue.created_at, max(issue.created_at, issue.updated_at or 0)

    def _priority(self, issue: Issue) -> Priority:
        if 0 <= issue.priority < len(PRIORITIES):
            return PRIORITIES[issue.priority]
        self.report.note(issue.id, "has an unknown priority; medium", str(issue.priority))
        return Priority.MEDIUM

    def _state(self, issue: Issue) -> WorkflowState:
        """The state of the same name, else the first one of the category that the status means."""
        wanted = text.same_name(issue.status.replace("_", " "))
        for state in self._states:
            if state.name_key == wanted:
                return state
        category = StateCategory.ACTIVE
        if issue.status in DONE_WORDS:
            category = StateCategory.DONE
        elif issue.status in WAITING_WORDS:
            category = StateCategory.BACKLOG
        else:
            self.report.note(issue.id, "has an unknown status; an active state", issue.status)
        fitting = [state for state in self._states if state.category == category]
        return (fitting or list(self._states))[0]

    def _label_names(self, issue: Issue) -> list[str]:
        kinds = () if issue.kind in PLAIN_KINDS else (issue.kind,)
        return [name for name in (*issue.labels, *kinds) if name.strip()]

    def _label(self, name: str) -> str:
        key = text.same_name(name.strip()[: text.NAME_LENGTH])
        if key not in self._labels:
            made = labels.create_label(
                self.actor, self.project_id, name=name.strip()[: text.NAME_LENGTH]
            )
            self._labels[key] = made.id
            self.report.made["labels"] += 1
        return self._labels[key]

    def _body(self, issue: Issue) -> str:
        """The sections of the issue, and where it comes from."""
        parts = [
            f"## {heading}\n\n{content}" if heading else content
            for heading, content in issue.sections
        ]
        origin = [f"Imported from {issue.id}"]
        if issue.author and issue.author not in self._users:
            origin.append(f"created by {issue.author}")
        if issue.assignee and issue.assignee not in self._users:
            origin.append(f"assigned to {issue.assignee}")
            self.report.note(issue.id, "has an assignee who is no user here", issue.assignee)
        if issue.closing:
            origin.append(f"closed: {issue.closing}")
        ending = f"\n\n---\n\n{', '.join(origin)}"
        written = "\n\n".join(parts)
        room = text.BODY_LENGTH - len(ending)
        if len(written) > room:
            self.report.note(issue.id, "has a body over the limit; its end was cut off")
        return written[: max(0, room)] + ending[: text.BODY_LENGTH]

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
            with session.begin_nested():
                relations.create_relation(
                    self.actor, source_id, type=kind, target_ticket_id=target_id
                )
        except DomainError as error:
            self.report.note(about, f"has a relation that was refused: {error.message}", target)
            return
        self.report.made[f"relations of type {kind}"] += 1

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
