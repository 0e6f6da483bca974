"""A dry run: the same way as a run goes, with nothing written at its ends."""

from collections.abc import Sequence

from app.core import ids
from app.core.db import reading
from app.tickets.importing.drafting import Draft
from app.tickets.importing.linking import Linker
from app.tickets.importing.planning import Planned
from app.tickets.importing.running import Importer, Progress
from app.tickets.models import RelationType, TicketType


class Links(Linker):
    """Relations that are counted."""

    def store(self, source_id: str, target_id: str, kind: RelationType) -> None:
        """Write nothing."""


class Trial(Importer):
    """Says what a run would make and could not map, but for what the verbs would refuse."""

    linker = Links

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Count and note what a run would do."""
        with reading():
            self._remember_former_runs()
            self._load_project()
            for entry in planned:
                if not self._is_passed_over(entry):
                    draft = self._drafter.draft(entry)
                    kind, parent_id = self._place(entry)
                    self._make(entry, draft, kind, parent_id)
                progress(1)
            for entry in planned:
                self._links.link(entry)

    def _write(self, draft: Draft, kind: TicketType, parent_id: str | None) -> tuple[str, str]:
        for name in draft.labels:
            self._label(name)
        return ids.new_id(), ""

    def _new_label(self, name: str) -> str:
        return ids.new_id()
