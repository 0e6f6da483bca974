"""Where a table begins in the lines of a paragraph, and how large one may be."""

import re

# A short text could name a table of millions of cells: each row is filled up to the first one's
# length.
MOST_COLUMNS = 64
MOST_CELLS = 10_000

_DELIMITER = re.compile(r"(?=.*\|)\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")


def start(lines: list[str]) -> int | None:
    """The line that is the first of a table, if one begins here."""
    for at in range(1, len(lines)):
        line = lines[at]
        if line[0] in "|:-" and "|" in lines[at - 1] and _DELIMITER.match(line):
            return at - 1
    return None


def columns(row: str) -> int:
    """The cells of a row in which every bar separates two."""
    row = row.strip()
    return row.count("|") + 1 - row.startswith("|") - (row.endswith("|") and len(row) > 1)


def is_table(rows: list[str], cells_before: int) -> bool:
    """Whether these rows make a table of bearable size."""
    width = columns(rows[0])
    return (
        width == columns(rows[1])
        and width <= MOST_COLUMNS
        and cells_before + width * len(rows) <= MOST_CELLS
    )
