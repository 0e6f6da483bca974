"""What people and clients read can be read in one go, and reads as one voice."""

import pytest

from tests.house import strings


@pytest.fixture(scope="module")
def shown():
    """All of them; to find them takes seconds."""
    return strings.strings()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("templates/home/inbox.html", "Updates on tickets you take part in."),
        ("templates/tickets/_children.html", "Title of the new {}"),
        ("templates/tickets/_fact.html", "Edit title"),
        ("app/core/errors.py", "The request is invalid."),
        ("app/wiki/service.py", "The slug {slug} is already taken."),
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
