"""The code stays as easy to live in as it is; a limit only ever falls."""

from tests.house import counts


def test_no_line_cites_a_document_that_is_not_here():
    assert counts.outside_citations() == []


def test_one_private_name_of_a_library_is_used():
    """Deliveries must choose the address that they connect to."""
    found = [name for name in counts.private_names() if not name.startswith("app/web/jinja.py:")]
    assert [name.partition(" ")[2] for name in found] == ["_new_conn"]


def test_what_app_imports_is_declared():
    assert counts.undeclared_imports() == []


def test_no_line_of_a_template_is_longer_than_a_screen():
    assert counts.long_template_lines() == []
