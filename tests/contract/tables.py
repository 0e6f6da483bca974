"""Reads the tables of the contract, and compares them with the code in both directions."""

from pathlib import Path

Row = tuple[str, ...]

LATER = "later"


def read(name: str) -> tuple[set[Row], set[Row]]:
    """The rows that must exist, and the rows that may."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    rows = [tuple(line.split()) for line in lines if line and not line.startswith("#")]
    due = {row for row in rows if row[-1] != LATER}
    later = {row[:-1] for row in rows if row[-1] == LATER}
    assert len(due | later) == len(rows), f"{name} has a row twice"
    return due, later


def assert_equal(found: set[Row], name: str) -> None:
    """Fail unless the code has exactly the rows of this table."""
    due, later = read(name)
    assert not due - found, f"missing in the code: {sorted(due - found)}"
    assert not found - due - later, f"missing in {name}: {sorted(found - due - later)}"
