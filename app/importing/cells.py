"""Reading CSV: the header, and each row with the number of the line it begins on."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from app.importing.issues import Source
from app.importing.report import Report

# A body may be long; the module's own limit of 128 KiB is meant for other things.
LONGEST_CELL = 16 * 1024 * 1024
# Trackers repeat a column for each comment or label.
MOST_COLUMNS = 5_000
DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file of rows whose columns may repeat a name, as Jira's do."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, dict[str, list[str]]], ...]


def read(source: Source, report: Report, encoding: str = "utf-8-sig") -> Sheet:
    """The rows of a file: for each column name its values that are not blank.

    Raises ValueError where it is no text of this encoding, has no header, or too many rows.
    """
    try:
        text = source.content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        known_as = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise ValueError(
            f"{source.name} is not {known_as}; say in which encoding it is written"
        ) from error
    csv.field_size_limit(LONGEST_CELL)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        header = tuple(name.strip() for name in next(lines, []))
    except csv.Error as error:
        raise ValueError(f"{source.name} is not CSV: {error}") from error
    if not any(header):
        raise ValueError(f"{source.name} has no header")
    if len(header) > MOST_COLUMNS:
        raise ValueError(f"{source.name} has more than {MOST_COLUMNS:,} columns")
    return Sheet(header, tuple(_rows(lines, header, source, report)))


def _delimiter(text: str) -> str:
    """The one that the header has most of."""
    header = text.partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def _rows(
    lines: Iterator[list[str]], header: tuple[str, ...], source: Source, report: Report
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    while True:
        where = source.line(lines.line_num + 1)  # type: ignore[attr-defined]  # csv.reader has it
        try:
            row = next(lines, None)
        except csv.Error as error:
            report.refuse(where, "is not CSV, nor what follows it", str(error))
            return
        if row is None:
            return
        source.allowance.take()
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            report.refuse(where, f"has {len(row)} cells where the header has {len(header)}")
            continue
        found: dict[str, list[str]] = {}
        for name, cell in zip(header, row, strict=True):
            if cell.strip():
                found.setdefault(name, []).append(cell)
        yield where, found
