"""Diffs of texts, and merging two changes of one."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text import sequences
from app.text.diff import compare
from app.text.merge3 import BETWEEN, MINE, THEIRS, merge
from app.text.sequences import runs
from tests.support.sizes import IS_LONG

TEXTS = st.lists(st.sampled_from(["a", "b", "c d", "c e f", "", "  "]), max_size=30).map("\n".join)


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@given(st.lists(st.sampled_from("abcde")), st.lists(st.sampled_from("abcde")))
def test_runs_lead_from_one_to_the_other(old, new):
    found = runs(old, new)
    assert [item for run in found for item in run.old] == list(range(len(old)))
    assert [item for run in found for item in run.new] == list(range(len(new)))
    for run in found:
        same = [old[at] for at in run.old] == [new[at] for at in run.new]
        assert same == run.same
    assert all(one.same != other.same for one, other in pairwise(found))


@given(TEXTS, TEXTS)
def test_a_diff_shows_every_line_that_came_or_went(old, new):
    diff = compare(old, new)
    gone = ["".join(t for t, _ in line.pieces) for b in diff.blocks if not b.same for line in b.old]
    come = ["".join(t for t, _ in line.pieces) for b in diff.blocks if not b.same for line in b.new]
    assert len(gone) == diff.removed
    assert len(come) == diff.added
    kept = sum(block.folded or len(block.old) for block in diff.blocks if block.same)
    assert kept + diff.removed == len(lines_of(old))
    assert kept + diff.added == len(lines_of(new))
    for block in diff.blocks:
        for line in block.old:
            assert "".join(text for text, _ in line.pieces) == lines_of(old)[line.number - 1]
        for line in block.new if not block.same else ():
            assert "".join(text for text, _ in line.pieces) == lines_of(new)[line.number - 1]


def test_words_are_marked_inside_a_line():
    (block,) = compare("the quick brown fox", "the quick red fox").blocks
    assert block.old[0].pieces == (("the quick ", False), ("brown", True), (" fox", False))
    assert block.new[0].pieces == (("the quick ", False), ("red", True), (" fox", False))


def test_words_that_changed_side_by_side_are_one_mark():
    (block,) = compare("we set up the old machine today", "we set up our new machine today").blocks
    assert [text for text, changed in block.old[0].pieces if changed] == ["the old"]
    assert [text for text, changed in block.new[0].pieces if changed] == ["our new"]


def test_lines_with_little_in_common_are_marked_whole():
    (block,) = compare("one two three four", "five six seven eight").blocks
    assert block.old[0].pieces == (("one two three four", True),)


def test_what_is_far_from_a_change_is_folded():
    text = "\n".join(f"line {number}" for number in range(100))
    diff = compare(text, text.replace("line 50", "line fifty"))
    assert [block.folded for block in diff.blocks] == [47, 0, 0, 0, 46]
    assert (diff.added, diff.removed) == (1, 1)
    assert compare(text, text + "\n").blocks == compare(text, text).blocks


def test_line_breaks_of_windows_are_no_change():
    assert compare("a\r\nb", "a\nb").added == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["letters", "same", "shuffled", "one line", "signs"])
def test_a_long_page_is_compared_in_bounded_time(kind):
    random_ = random.Random(7)
    size = 1 << 20 if IS_LONG else 1 << 17
    numbers = [str(number) for number in range(size // 10)]
    shuffled = random_.sample(numbers, len(numbers))
    old, new = {
        "letters": tuple(
            "\n".join(random_.choice("abcdefgh") for _ in range(size // 2)) for _ in range(2)
        ),
        "same": ("a\n" * (size // 2), "a\n" * (size // 2 - 5) + "b\n"),
        "shuffled": ("\n".join(numbers), "\n".join(shuffled)),
        "one line": ("ab " * (size // 3), "ab " * (size // 3 - 100) + "cd"),
        "signs": ("!" * size, "?" * size),
    }[kind]
    start = time.process_time()
    diff = compare(old, new)
    assert diff.added
    # Some seconds on a slow machine; a table of all lines would take hours.
    assert time.process_time() - start < size / 40_000


def test_changes_in_different_places_are_put_together():
    merged = merge("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nc\nD\nnew\n")
    assert (merged.text, merged.conflicts) == ("a\nB\nc\nD\nnew\n", 0)


def test_the_same_change_twice_is_one():
    assert merge("a\nb\n", "a\nx\n", "a\nx\n").text == "a\nx\n"


def test_two_changes_of_one_place_are_both_kept():
    merged = merge("a\nb\n", "a\nmine\n", "a\ntheirs\n")
    assert merged.text == f"a\n{MINE}\nmine\n{BETWEEN}\ntheirs\n{THEIRS}\n"
    assert merged.conflicts == 1


@given(TEXTS, TEXTS)
def test_merging_with_no_change_gives_the_other(base, changed):
    assert merge(base, changed, base).text == changed
    assert merge(base, base, changed).text == changed
    assert merge(base, changed, changed).text == changed


@given(TEXTS, TEXTS, TEXTS)
def test_merging_loses_no_line(base, mine, theirs):
    merged = merge(base, mine, theirs).text.split("\n")
    kept = set(base.split("\n"))
    assert set(mine.split("\n")) - kept <= set(merged)
    assert set(theirs.split("\n")) - kept <= set(merged)


def test_without_time_for_words_whole_lines_are_marked(monkeypatch):
    monkeypatch.setattr(sequences, "SECONDS", -1.0)
    made = compare("same\none two three\nend", "same\none two four\nend")
    assert (made.added, made.removed) == (3, 3)
    assert {piece for block in made.blocks for line in block.new for piece in line.pieces} == {
        ("same", True),
        ("one two four", True),
        ("end", True),
    }


@pytest.mark.slow
def test_the_longest_texts_are_compared_in_bounded_time():
    lines = [str(number) for number in range(100_000)]
    began = time.thread_time()
    compare("\n".join(lines), "\n".join(reversed(lines)))
    compare(" ".join(lines[:19_000]), " ".join(reversed(lines[:19_000])))
    assert time.thread_time() - began < 6
