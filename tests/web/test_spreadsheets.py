"""Lines of CSV: no spreadsheet finds a formula in what people and bots wrote."""

import csv
import io
import re

import pytest

from app.web.downloads import line

STARTS = ("=", "+", "-", "@")


def test_a_number_is_a_cell_and_nothing_is_an_empty_one():
    assert line([0, 7, None, ""]) == "0,7,,\r\n"


@pytest.mark.parametrize(
    "before", ["", "\t", "\r", "x;", "x; ", 'x;"', 'x,"y;', "x\t", "x\n", "x\r\n", "x;;", '";"']
)
def test_no_cell_begins_with_a_formula_wherever_it_is_split(before):
    written = line(["OPEN-1", *(f"{before}{start}1+1" for start in STARTS), "end"])
    assert all(f"'{start}1+1" in written for start in STARTS)
    # Read with any separator, and without quoting.
    for cell in re.split(r"[,;\t\r\n]", written):
        assert not cell.lstrip('" ').startswith(STARTS)


def test_other_texts_stay_as_they_are():
    given = ["a = b", "x;y", "1 - 2; 3", "mail@example.org", "one\ntwo", None, ["bug", "ui"]]
    (read,) = csv.reader(io.StringIO(line(given), newline=""))
    assert read == ["a = b", "x;y", "1 - 2; 3", "mail@example.org", "one\ntwo", "", "bug, ui"]
