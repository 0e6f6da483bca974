"""Writing the relations between imported tickets."""

from collections.abc import Mapping

from sqlalchemy import select

from app.core.actor import Actor
from app.core.errors import Conflict, DomainError
from app.database.session import savepoint, session
from app.importing import messages
from app.importing.issues import MENTION_LINK, PARENT_LINK
from app.importing.planning import Planned
from app.importing.report import ImportReport
from app.importing.words import RELATED_WORDS
from app.tickets import relations
from app.tickets.models import ImportedIssue, RelationType, TicketRelation

# Source, target and type.
Edge = tuple[str, str, str]


class RelationLinker:
    """Relates tickets; ``ticket_ids`` maps issue ids to ticket ids and grows during the run."""

    def __init__(self, actor: Actor, report: ImportReport, ticket_ids: Mapping[str, str]) -> None:
        self.actor = actor
        self.report = report
        self.ticket_ids = ticket_ids
        # An ordered set; the values are unused.
        self.edges: dict[Edge, None] = {}

    def remember(self, project_id: str) -> None:
        """Load the relations that imported tickets already have."""
        rows = session.execute(
            select(
                TicketRelation.source_ticket_id,
                TicketRelation.target_ticket_id,
                TicketRelation.type,
            )
            .join(ImportedIssue, ImportedIssue.ticket_id == TicketRelation.source_ticket_id)
            .where(ImportedIssue.project_id == project_id)
        )
        self.edges = {(row[0], row[1], row[2]): None for row in rows}

    @staticmethod
    def is_needed(entry: Planned) -> bool:
        """Whether an issue has relations."""
        return bool(entry.related_ids) or any(
            link.kind != PARENT_LINK for link in entry.issue.links
        )

    def link(self, entry: Planned) -> None:
        """Write the relations of an issue that do not exist yet."""
        issue_id = entry.issue.id
        for other in entry.related_ids:
            self._relate(issue_id, other, RelationType.RELATES_TO)
        for link in entry.issue.links:
            if link.kind == PARENT_LINK:
                continue
            kind = RELATED_WORDS.get(link.kind)
            if kind is None:
                self.report.note(issue_id, messages.UNKNOWN_DEPENDENCY, link.kind)
            elif link.kind == MENTION_LINK and link.other_id not in self.ticket_ids:
                continue
            elif kind is RelationType.BLOCKS:
                # The link is "depends on", seen from the blocked issue.
                self._relate(link.other_id, issue_id, kind, noted=issue_id)
            else:
                self._relate(issue_id, link.other_id, kind)

    def _relate(
        self, source: str, target: str, kind: RelationType, *, noted: str | None = None
    ) -> None:
        about = noted or source
        source_id, target_id = self.ticket_ids.get(source), self.ticket_ids.get(target)
        if source_id is None or target_id is None:
            other = target if about == source else source
            self.report.note(about, messages.DEPENDS_ON_MISSING_ISSUE, other)
            return
        edges = {(source_id, target_id, str(kind))}
        if kind is RelationType.RELATES_TO:
            edges.add((target_id, source_id, str(kind)))
        if any(edge in self.edges for edge in edges):
            return
        try:
            self.store(source_id, target_id, kind)
        except DomainError as error:
            if not _exists(error):
                reason = messages.relation_rejected(error.message)
                self.report.note(about, reason, target)
            return
        self.edges.update(dict.fromkeys(edges))
        self.report.created[messages.relations_of(kind)] += 1

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        with savepoint():
            relations.create_relation(self.actor, source_id, type=kind, target_ticket_id=target_id)


def _exists(error: DomainError) -> bool:
    """Whether the relation was written concurrently, for example by a run of the same file."""
    return isinstance(error, Conflict) and (error.details or {})["reason"] == "duplicate_key"
