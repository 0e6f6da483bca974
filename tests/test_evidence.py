"""The evidence named in SECURITY.md and RELIABILITY.md exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
NAMED = re.compile(r"`((?:\w+/)*\w+\.py)::(\w+)`")


@cache
def names_of(path):
    """Return the names of a file's tests, including those below an ``if``."""
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def rows(name):
    """Return the rows of a document's tables."""
    text = (TESTS.parent / name).read_text()
    return [line for line in text.splitlines() if line.startswith("| ") and "`" in line]


@pytest.mark.parametrize("name", ["SECURITY.md", "RELIABILITY.md"])
def test_every_test_that_is_named_exists(name):
    named = NAMED.findall((TESTS.parent / name).read_text())
    assert len(named) > 20
    missing = [
        f"{path}::{test}"
        for path, test in named
        if not (TESTS / path).exists() or test not in names_of(path)
    ]
    assert missing == []


def test_every_item_that_is_met_names_its_test():
    unproven = [row for row in rows("SECURITY.md") if "| met |" in row and not NAMED.search(row)]
    assert unproven == []


def named_in(row):
    """Return the tests named in a table row, each with its file."""
    return NAMED.findall(row)


def test_every_risk_of_agents_has_its_row_and_a_test():
    found = [row for row in rows("SECURITY.md") if row.startswith("| ASI")]
    assert [row[2:7] for row in found] == [f"ASI{number:02}" for number in range(1, 11)]
    assert [row for row in found if not named_in(row)] == []


def test_every_published_class_has_a_test_that_fails_on_a_weakened_build():
    weakened = "test_weakened_builds.py"
    found = [row for row in rows("SECURITY.md") if "| CVE-" in row]
    assert len(found) == 6
    tried = [{test for path, test in named_in(row) if path == weakened} for row in found]
    assert all(tried)
    # And the file has no tests that the table omits.
    assert set().union(*tried) == {name for name in names_of(weakened) if name.startswith("test_")}


def test_every_promise_has_its_row():
    text = (TESTS.parent / "RELIABILITY.md").read_text()
    promised = re.findall(r"^\| P(\d+) \|.*::", text, re.MULTILINE)
    assert promised == [str(number) for number in range(1, 29)]
