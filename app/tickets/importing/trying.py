"""A dry run: the same way as a run goes, with nothing written at its ends."""

from collections.abc import Sequence

from app.core import ids
from app.core.db import reading
from app.tickets.importing.drafting import Draft
from app.tickets.importing.planning import Planned
from app.tickets.importing.running import Importer, Progress
from app.tickets.models import RelationType, TicketType


class Trial(Importer):
    """Says what a run would make and could not map, but for what the verbs would refuse."""

    def run(self, planned: Sequence[Planned], progress: Progress) -> None:
        """Count and note what a run would do."""
        with reading():
            self._remember_former_runs()
            self._load_project()
            self._related: set[tuple[str, str, RelationType]] = set()
            for entry in planned:
                if not self._is_passed_over(entry):
                    draft = self._drafter.draft(entry)
                    kind, parent_id = self._place(entry)
                    self._make(entry, draft, kind, parent_id)
                progress(1)
            for entry in planned:
                self._import_relations(entry)

    def _write(self, draft: Draft, kind: TicketType, parent_id: str | None) -> tuple[str, str]:
        for name in draft.labels:
            self._label(name)
        return ids.new_id(), ""

    def _new_label(self, name: str) -> str:
        return ids.new_id()

    def _store_relation(self, source_id: str, target_id: str, kind: RelationType) -> None:
        self._related.add((source_id, target_id, kind))

    def _is_related(self, source_id: str, target_id: str, kind: RelationType) -> bool:
        pairs = {(source_id, target_id, kind)}
        if kind is RelationType.RELATES_TO:
            pairs.add((target_id, source_id, kind))
        return bool(pairs & self._related) or super()._is_related(source_id, target_id, kind)
