"""Figures that appear in several documents are the same everywhere."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Rows of the capacity table, and the measured operations.
OPERATIONS = {
    "Get a ticket": "get ticket",
    "List of 50": "list of 50",
    "Search": "search",
    "Create a ticket": "create ticket",
    "Ticket page": "ticket page",
    "Board page": "board page",
    "An agent's `get_self` over MCP": "MCP get_self",
}


def text(name):
    return (ROOT / name).read_text()


def number(cell):
    return int(cell.replace(",", ""))


def two_digits(value):
    """Round to two significant digits."""
    return round(value, 2 - len(str(value)))


def measured(kind):
    """Return the requests per second of each operation on a database."""
    (table,) = re.findall(rf"^\| {kind} \| requests/s.*?\n\n", text("PERFORMANCE.md"), re.M | re.S)
    return {name: int(rate) for name, rate in re.findall(r"^\| ([^|]+) \| (\d+) \|", table, re.M)}


def test_the_capacity_is_what_was_measured():
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \| ([\d,]+) \|$", text("docs/capacity.md"), re.M)
    told = {name: (number(sqlite), number(postgresql)) for name, sqlite, postgresql in rows}
    sqlite, postgresql = measured("SQLite"), measured("PostgreSQL")
    assert told == {
        name: (two_digits(sqlite[operation]), two_digits(postgresql[operation]))
        for name, operation in OPERATIONS.items()
    }


def test_the_cost_of_an_agent_is_what_was_measured():
    calls, tokens = re.search(
        r"\| Together \| (\d+) \| ([\d,]+) \|", text("docs/bot-guide.md")
    ).groups()
    assert f"{tokens} in {calls} calls" in text("PERFORMANCE.md")
    rounded = round(number(tokens), -2)
    assert f"take {calls} calls and about {rounded:,} tokens" in text("README.md")


def test_the_size_of_the_index_is_what_was_measured():
    (size,) = re.findall(r"The index takes (\d+) kB per ticket", text("PERFORMANCE.md"))
    assert f"of which {size} are its search index" in text("docs/capacity.md")
