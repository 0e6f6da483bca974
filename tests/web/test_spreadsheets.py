"""Lines of CSV: no spreadsheet finds a formula in what people and bots wrote."""

import csv
import io
import re
from itertools import product

import pytest

from app.web.downloads import FORMULA, items, line, without_apostrophes

STARTS = ("=", "+", "-", "@")


def test_a_number_is_a_cell_and_nothing_is_an_empty_one():
    assert line([0, 7, None, ""]) == "0,7,,\r\n"


@pytest.mark.parametrize(
    "before",
    ["", "\t", "\r", "x;", "x; ", 'x;"', 'x,"y;', "x\t", "x\n", "x\r\n", "x;;", '";"', "'"],
)
def test_no_cell_begins_with_a_formula_wherever_it_is_split(before):
    written = line(["OPEN-1", *(f"{before}{start}1+1" for start in STARTS), "end"])
    assert all(f"'{start}1+1" in written for start in STARTS)
    # Read with any separator, and without quoting.
    for cell in re.split(r"[,;\t\r\n]", written):
        assert not cell.lstrip('" ').startswith(STARTS)


def test_other_texts_stay_as_they_are():
    given = [
        *("a = b", "x;y", "1 - 2; 3", "mail@example.org", "one\ntwo", None, ["bug", "ui"]),
        *('"@ada" said', '"-5" degrees', " - a", "  @ada", " +1", "' =a", "'a"),
    ]
    (read,) = csv.reader(io.StringIO(line(given), newline=""))
    assert read == [*given[:5], "", "bug, ui", *given[7:]]


def test_the_apostrophes_of_formulas_can_be_taken_away():
    texts = ["".join(letters) for size in range(6) for letters in product("=\"'; \tx", repeat=size)]
    for text in texts:
        assert without_apostrophes(FORMULA.sub(r"\1'", text)) == text


def test_a_list_can_be_read_again():
    pool = ("a", "a, b", '"a"', 'a "b"', "=a", ';"=a', "a\nb", "'=a, b", "a;b")
    for given in product(pool, repeat=2):
        (read,) = next(csv.reader(io.StringIO(line([list(given)]), newline="")))
        assert items(without_apostrophes(read)) == list(given)
