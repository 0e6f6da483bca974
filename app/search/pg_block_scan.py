"""How far one tier was looked for on PostgreSQL: by blocks of document ids, from the newest on.

The fewest documents that are enough are looked at: so few blocks at first, and more each time.
"""

from dataclasses import dataclass, field

from app.search.expressions import Expression
from app.search.ranking import Tier, Wanted

BLOCK_BITS = 12

# How many times as many blocks each look takes in than the one before, up to so many: it asks for
# each block by its term, so a look at sixteen takes as long as one at all of a million documents
# where four thousand of them fit, and a look at sixty-four ten times as long (PERFORMANCE.md).
WIDER = 4
WIDEST = 16
# Where no more documents than these are expected to fit in all, the next look is the last; expected
# by no fewer documents than those, as the newest block may hold any number.
FEW = 4000
SAMPLE = 1 << (BLOCK_BITS - 1)


@dataclass(slots=True)
class Search:
    """How far one tier was looked for: from the block ``left`` on, to the newest of ``blocks``."""

    tier: Tier
    expression: Expression
    # All document ids looked for are under this one.
    below: int
    blocks: int
    left: int
    size: int = 1
    found: list[int] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The oldest block of the next look."""
        return max(self.left - self.size, 0)

    def went_on(self, document_ids: list[int]) -> None:
        """Note what the look at the next blocks found."""
        self.found += sorted(document_ids, reverse=True)
        self.left = self.first
        # If they lie as densely as among those looked at.
        looked_at = self.below - (self.left << BLOCK_BITS)
        are_few = looked_at >= SAMPLE and len(self.found) * self.below <= FEW * looked_at
        self.size = max(self.left if are_few else min(self.size * WIDER, WIDEST), 1)


def search_for(asked: Wanted, newest_id: int) -> Search:
    """One that has not begun."""
    below = min(asked.below, newest_id + 1)
    blocks = ((below - 1) >> BLOCK_BITS) + 1
    return Search(asked.tier, asked.expression, below, blocks, blocks)
