"""The code stays as easy to work with as it is; a limit rises only by what a feature needs."""

from tests.conventions import counts

# The limit of the lines of app/.
MOST_LINES = 83_215


def test_no_line_cites_a_document_that_is_not_here():
    assert counts.outside_citations() == []


def test_one_private_name_of_a_library_is_used():
    """Deliveries must choose the address that they connect to."""
    found = counts.private_names()
    assert [name.partition(" ")[2] for name in found] == ["_new_conn"]


def test_what_app_imports_is_declared():
    assert counts.undeclared_imports() == []


def test_no_line_of_a_template_is_longer_than_a_screen():
    found = counts.long_template_lines()
    assert found == [], f"a line of a template has at most {counts.LONG_TEMPLATE_LINE} columns"


def test_no_class_name_stands_twice():
    assert counts.class_names_twice() == {}


def test_no_name_has_a_word_that_is_not_the_fields():
    assert counts.banned_names() == []


def test_no_group_is_repeated_possessively():
    assert counts.possessive_groups() == []


def test_no_file_is_too_long():
    found = counts.long_files()
    assert found == [], f"a file has at most {counts.LONG_FILE} lines: split it by its subjects"


def test_files_stay_few():
    assert len(counts.modules()) <= 550
    assert len(counts.short_files()) <= 80
    assert len(counts.core_modules()) <= 15


def test_app_has_no_more_lines_than_its_features_need():
    excess = counts.lines() - MOST_LINES
    assert excess <= 0, (
        f"app/ has {excess} lines more: take lines out, or raise MOST_LINES by what the feature "
        "needs (CONTRIBUTING.md, How we write)"
    )
