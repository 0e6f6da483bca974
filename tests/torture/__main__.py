"""``python -m tests.torture``: run every fault once per database, then kills until time is up."""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.support.forking import FORKED_CRASHING
from tests.support.serving import CRASHING
from tests.torture.faults import Figures, backends, kills
from tests.torture.scenarios import SCENARIOS, Scenario
from tests.torture.stage import Stage, staged

KINDS = ("sqlite", "postgresql")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--db", choices=KINDS, action="append")
    parser.add_argument("--only", action="append", help="scenarios by name")
    parser.add_argument("--short", action="store_true", help="the form of CI, about a minute")
    parser.add_argument("--kills", type=int, help="nothing but so many SIGKILLs of each kind")
    return parser.parse_args()


def run(stage: Stage, name: str, fault: Callable[[Stage], Figures]) -> bool:
    """Run one fault, then the checker, and print a line of the table."""
    began = time.monotonic()
    try:
        figures = fault(stage)
        found = stage.check()
    except Exception:
        print(f"BROKEN  {stage.kind:10}  {name}", flush=True)
        traceback.print_exc()
        return False
    said = ", ".join(f"{key} {value}" for key, value in (figures | found).items())
    print(f"ok  {stage.kind:10}  {name:14}  {time.monotonic() - began:6.1f} s  {said}", flush=True)
    return True


def play(kind: str, asked: argparse.Namespace, seconds: float) -> bool:
    """Run all scenarios on one database; return True if every promise was kept."""
    began = time.monotonic()
    kept = True
    with (
        tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as directory,
        staged(kind, Path(directory), FORKED_CRASHING if asked.short else CRASHING) as stage,
    ):
        if asked.kills:
            return play_kills(stage, asked.kills)
        for scenario in chosen(kind, asked):
            form = scenario.short if asked.short else scenario.long
            assert form is not None
            kept &= run(stage, scenario.name, form)
            if not kept:
                print(stage.served.output()[-3000:] if stage.served else "", file=sys.stderr)
                return False
        while not asked.short and not asked.only:
            left = seconds - (time.monotonic() - began)
            if left < 5 or not kept:
                break
            turn = min(left, 120.0)
            kept &= run(stage, "kills", partial(kills, count=10_000, seconds=turn))
            if kind == "postgresql" and kept:
                kept &= run(stage, "backends", partial(backends, count=40, seconds=turn))
    return kept


def play_kills(stage: Stage, count: int, turn: int = 50) -> bool:
    """Kill the server ``count`` times, then PostgreSQL's processes; check after every ``turn``."""
    faults = [("kills", kills)] + [("backends", backends)] * (stage.kind == "postgresql")
    return all(
        run(stage, f"{name} {done}", partial(fault, count=min(turn, count - done)))
        for name, fault in faults
        for done in range(0, count, turn)
    )


def chosen(kind: str, asked: argparse.Namespace) -> list[Scenario]:
    """Return the selected scenarios that apply to this database."""
    return [
        one
        for one in SCENARIOS
        if kind in one.kinds
        and (one.short is not None or not asked.short)
        and (not asked.only or one.name in asked.only)
    ]


def main() -> int:
    """Return 0 if every promise was kept."""
    asked = arguments()
    kinds = asked.db or KINDS
    share = asked.minutes * 60 / len(kinds)
    kept = [play(kind, asked, share) for kind in kinds]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
