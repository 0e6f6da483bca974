"""Reporting what an import would do, without writing."""

from collections.abc import Sequence

from app.attachments.service import ImportedFile
from app.core import ids
from app.database.session import reading
from app.importing import issue_files
from app.importing.drafting import DraftTicket
from app.importing.linking import RelationLinker
from app.importing.planning import Planned
from app.importing.running import Importer, Progress
from app.tickets.models import RelationType, TicketType


class DryRunLinker(RelationLinker):
    """Counts relations and writes none."""

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        pass


class DryRun(Importer):
    """Reports what a run would create and could not map, except for refusals by the verbs.

    With ``explains_all``, it also notes what could not be mapped of issues that already exist.
    """

    linker = DryRunLinker
    explains_all = False

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        with reading():
            self._load_earlier_runs()
            self._load_project()
            known = [one.issue for one in planned if one.issue.id in self.ticket_ids]
            wanted = issue_files.lacking(known, self.ticket_ids, self._gone)
            late = sum(len(one.files) for one in wanted)
            for entry in planned:
                if not self._is_skipped(entry.issue):
                    self._create(entry, {})
                    if entry.issue.files:
                        self.report.created["files"] += len(entry.issue.files)
                elif self.explains_all and not entry.issue.is_deleted:
                    self._drafter.draft(entry.issue)
                progress(1)
            if late:
                self.report.created["files"] += late
            for entry in planned:
                self._links.link(entry)

    def explain(self, planned: Sequence[Planned]) -> None:
        self.explains_all = True
        self.run(planned, lambda _: None)

    def _write(
        self,
        draft: DraftTicket,
        kind: TicketType,
        parent_id: str | None,
        files: Sequence[ImportedFile],
    ) -> tuple[str, str]:
        for name in draft.labels:
            self._label(name)
        return ids.new_id(), ""

    def _new_label(self, name: str) -> str:
        return ids.new_id()
