"""Lines of CSV that a spreadsheet opens without running anything."""

import csv
import io
from collections.abc import Iterable
from typing import Any

# What a spreadsheet would take for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def line(values: Iterable[Any]) -> str:
    """One line: None is empty, a list is its items, what looks like a formula is quoted."""
    written = io.StringIO()
    csv.writer(written).writerow([_cell(value) for value in values])
    return written.getvalue()


def _cell(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else value or ""
    return f"'{text}" if text.startswith(FORMULA) else text
