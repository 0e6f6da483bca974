"""Which run of backticks closes which: what stands between them is code."""

from bisect import bisect_right

from app.markdown.patterns import GAP, TICKS


class Ticks:
    """The runs of backticks in a text, to find the one that closes another."""

    def __init__(self, text: str) -> None:
        self.starts: dict[int, list[int]] = {}
        self.gaps = [found.start() for found in GAP.finditer(text)]
        for found in TICKS.finditer(text):
            self.starts.setdefault(found.end() - found.start(), []).append(found.start())

    def closing(self, start: int, end: int) -> int | None:
        """Where the code that the run from start to end opens is closed, if it is."""
        # Behind a backslash begins a run that is shorter than the one that stands there.
        starts = self.starts.get(end - start, [])
        index = bisect_right(starts, start)
        if index == len(starts):
            return None
        closing = starts[index]
        # Code does not reach over an empty line.
        gap = bisect_right(self.gaps, start)
        return None if gap < len(self.gaps) and self.gaps[gap] < closing else closing
