"""The strings that people and clients see can be read in one go, and have one voice."""

import ast

import pytest

from tests.conventions import strings
from tests.conventions.counts import modules


@pytest.fixture(scope="module")
def shown():
    """All strings; finding them takes seconds."""
    return strings.strings()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("templates/home/inbox.html", "Updates on tickets you take part in."),
        ("templates/tickets/_children.html", "Title of the new {}"),
        ("templates/tickets/_ticket_field.html", "Edit title"),
        ("app/core/messages.py", "The request is invalid."),
        ("app/wiki/messages.py", "The slug {slug} is already taken."),
        ("app/projects/api.py", "Fetch one project."),
        ("static/js/moves.js", "No connection. Nothing was changed."),
    ],
)
def test_every_kind_of_string_is_listed(shown, place, text):
    assert text in [one.text for one in shown if one.path == place]


def test_what_nobody_sees_is_not_listed(shown):
    texts = {one.text for one in shown}
    assert strings.__doc__ not in texts
    assert not [one for one in texts if one.startswith(("SELECT ", "<div", "hx-"))]


def test_no_string_has_a_word_that_another_one_replaces(shown):
    assert [str(one) for one in shown if strings.AVOIDED.search(one.fixed)] == []


def test_messages_stand_in_the_modules_of_messages():
    assert [str(one) for one in strings.out_of_place()] == []


def test_modules_of_messages_import_no_code():
    """These modules are read like a list, and anything may import them."""
    imported = {
        f"{path}: {name}"
        for path, tree in modules().items()
        if path.endswith(f"/{strings.MESSAGES}")
        for name in _imported(tree)
        if name.startswith("app")
    }
    assert imported == set()


def _imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
