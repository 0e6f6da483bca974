"""A dry run: the same way as a run goes, with nothing written at its ends."""

from collections.abc import Sequence

from app.core import ids
from app.database.session import reading
from app.importing.drafting import Draft
from app.importing.linking import Linker
from app.importing.planning import Planned
from app.importing.running import Importer, Progress
from app.tickets.models import RelationType, TicketType


class Links(Linker):
    """Relations that are counted."""

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        """Write nothing."""


class Trial(Importer):
    """Says what a run would make and could not map, but for what the verbs would refuse.

    One that ``explains_all`` also says what could not be mapped of what is there already.
    """

    linker = Links
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
                    kind, parent_id = self._place(entry)
                    self._make(entry, draft, kind, parent_id)
                progress(1)
            for entry in planned:
                self._links.link(entry)

    def explain(self, planned: Sequence[Planned]) -> None:
        """As ``run``, with all notes."""
        self.explains_all = True
        self.run(planned, lambda _: None)

    def _write(self, draft: Draft, kind: TicketType, parent_id: str | None) -> tuple[str, str]:
        for name in draft.labels:
            self._label(name)
        return ids.new_id(), ""

    def _new_label(self, name: str) -> str:
        return ids.new_id()
