"""The code stays as easy to live in as it is; a limit only ever falls."""

from tests.house import counts


def test_no_line_cites_a_document_that_is_not_here():
    assert counts.outside_citations() == []


def test_what_app_imports_is_declared():
    assert counts.undeclared_imports() == []


def test_no_line_of_a_template_is_longer_than_a_screen():
    assert counts.long_template_lines() == []
