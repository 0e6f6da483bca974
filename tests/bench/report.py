"""The result table, on the terminal and in PERFORMANCE.md."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.bench.wrk import Figures

HEADING = "## The server"
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(frozen=True)
class Line:
    """One operation: its figures, and its actual and required share of the yardstick's requests.

    The share is the median of the rounds, each compared with the yardstick at that moment, so it
    may differ from the quotient of the two figures shown.
    """

    name: str
    figures: Figures
    share: float
    floor: float


@dataclass(frozen=True)
class Versus:
    """get_self, with its log row and event, versus a no-op tool of the SDK."""

    ours: Figures
    theirs: Figures

    def __str__(self) -> str:
        return (
            f"MCP get_self at one connection: {self.ours.per_second:.0f} requests/s, p50 "
            f"{self.ours.p50:.2f} ms; the empty tool of the official Python SDK's server: "
            f"{self.theirs.per_second:.0f}, p50 {self.theirs.p50:.2f} ms."
        )


@dataclass(frozen=True)
class Table:
    """The results of one database."""

    database: str
    workers: int
    lines: list[Line]
    # Of all server processes together, after the measurement.
    memory_mib: float
    versus: Versus | None = None


def text(table: Table) -> str:
    """Format a table for the terminal."""
    row = "{:<26}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}"
    shown = [
        row.format(NAMES[table.database], "req/s", "share", "floor", "p50 ms", "p99 ms", "failed")
    ]
    shown += [
        row.format(
            line.name,
            f"{line.figures.per_second:.0f}",
            f"{line.share:.3f}",
            f"{line.floor:.3f}",
            f"{line.figures.p50:.2f}",
            f"{line.figures.p99:.2f}",
            line.figures.failures,
        )
        for line in table.lines
    ]
    shown.append(f"{table.workers} worker(s), {table.memory_mib:.0f} MiB")
    return "\n".join([*shown, *([str(table.versus)] if table.versus else [])])


def write(path: Path, arguments: str, machine: str, tickets: int, tables: list[Table]) -> None:
    """Replace everything under the heading with the tables."""
    parts = [
        HEADING,
        f'    make bench ARGS="{arguments}"',
        f"{tickets} tickets of about 200 words in one project, with labels, comments, events and "
        "1,000 wiki pages; wrk with one thread and 8 connections, the median of three rounds; "
        "the share is that of a bare Flask route under the same server, asked for a second before "
        "and behind each, so it need not be that of the figures shown. "
        f"{machine}, client and server on it together.",
    ]
    for table in tables:
        rows = [
            f"| {NAMES[table.database]} | requests/s | share | floor | p50 ms | p99 ms |",
            "|---|---|---|---|---|---|",
        ]
        rows += [
            f"| {line.name} | {line.figures.per_second:.0f} | {line.share:.3f} | "
            f"{line.floor:.3f} | {line.figures.p50:.2f} | {line.figures.p99:.2f} |"
            for line in table.lines
        ]
        parts.append("\n".join(rows))
        memory = f"{table.memory_mib:.0f} MiB after it, all processes together"
        parts.append(f"Workers: {table.workers}; {memory}.")
        parts += [str(table.versus)] if table.versus else []
    section = "\n\n".join(parts) + "\n\n"
    known = path.read_text()
    found = re.compile(rf"^{HEADING}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if found.search(known):
        path.write_text(found.sub(lambda _: section, known, count=1))
    else:
        first, mark, rest = known.partition("## ")
        path.write_text(first + section + mark + rest)
