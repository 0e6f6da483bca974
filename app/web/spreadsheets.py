"""Lines of CSV that a spreadsheet opens without running anything."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

# Where a spreadsheet would begin a formula: at the start of a cell, and inside it wherever one that
# splits at semicolons, tabs or line breaks, whatever is quoted, has another cell begin.
FORMULA = re.compile(r"""^(?=[=+\-@\t\r])|([;\t\r\n][" ]*)(?=[=+\-@])""")


def line(values: Iterable[Any]) -> str:
    """One line: None is empty, a list is its items, a formula gets an apostrophe."""
    written = io.StringIO()
    csv.writer(written).writerow([_cell(value) for value in values])
    return written.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(value)
    text = "" if value is None else str(value)
    return FORMULA.sub(r"\1'", text)
