"""Profile processor time: sample the running code every millisecond of it."""

import signal
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType

import psycopg
from sqlalchemy.engine.default import DefaultDialect

from app.database import compiled_statements
from app.database.connect import run_on_driver
from tests.support.serving import ROOT

EVERY_SECONDS = 0.001
# Python functions that only call the database's own code.
DATABASE = {
    function.__code__
    for function in (
        compiled_statements._execute,
        run_on_driver,
        DefaultDialect.do_execute,
        DefaultDialect.do_executemany,
        DefaultDialect.do_commit,
        psycopg.Connection.wait,
    )
}


class Sampler:
    """Use in a with-statement in the main thread; ``shares`` returns the results."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __enter__(self) -> "Sampler":
        """Start sampling."""
        signal.signal(signal.SIGPROF, self._note)
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Stop sampling."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _note(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self._seen[area(frame)] += 1

    def shares(self, most: int) -> list[tuple[str, float]]:
        """Return the most frequent areas, each with its share of all samples."""
        every = self._seen.total() or 1
        return [(name, count / every) for name, count in self._seen.most_common(most)]


def area(frame: FrameType) -> str:
    """Return the part of the application, or the library, that a frame belongs to."""
    path = Path(frame.f_code.co_filename)
    if frame.f_code in DATABASE:
        return "the database"
    if path.is_relative_to(ROOT / "app"):
        inside = path.relative_to(ROOT / "app")
        return f"app/{inside.parts[0]}"
    if path.is_relative_to(ROOT / "templates"):
        return "templates"
    parts = path.parts
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1].removesuffix(".py")
    return f"Python: {path.stem}"
