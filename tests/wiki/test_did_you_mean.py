"""The suggestions for a slug that no page has."""

import pytest

from app.core.actor import Actor, ActorKind
from app.database.session import reading
from app.wiki import did_you_mean
from app.wiki.did_you_mean import closest_slugs, known_slugs
from tests.support.statements import statements

SLUGS = known_slugs(
    ["setup-guide", "set-up", "home", "release-notes", "stickies", "api", "page-1", "page-2"]
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("setup-giude", "setup-guide"),
        ("guide-setup", "setup-guide"),
        ("zetup-guide", "setup-guide"),
        ("setup", "set-up"),
        ("hmoe", "home"),
        ("relase-note", "release-notes"),
        ("sticky", "stickies"),
        ("page-22", "page-2"),
    ],
)
def test_a_slip_leads_to_the_slug_that_was_meant(typed, meant):
    assert meant in closest_slugs(SLUGS, typed)


@pytest.mark.parametrize("typed", ["architecture", "zzz", "q", "stack"])
def test_nothing_is_suggested_for_what_resembles_nothing(typed):
    assert closest_slugs(SLUGS, typed) == []


def test_the_likeliest_comes_first_and_only_a_few_are_named():
    found = closest_slugs(
        known_slugs([f"setup-{one}" for one in "abcdefgh"] + ["setup-guide"]), "setup-guides"
    )
    assert found[0] == "setup-guide"
    assert len(found) == did_you_mean.MAX_SUGGESTIONS


def test_common_trigrams_are_ignored(monkeypatch):
    monkeypatch.setattr(did_you_mean, "COMMON", 3)
    candidates = known_slugs([f"page-{number}" for number in range(10)] + ["page-setup"])
    assert closest_slugs(candidates, "page-setpu") == ["page-setup"]


def test_slugs_are_read_in_one_statement_without_the_texts(app, cast):
    for project in (None, cast.open_project, cast.fenced_project):
        cast.ada.post("/wiki/pages", {"title": "Set up", "body": "x", "project_id": project})
    cast.ada.post("/wiki/pages", {"title": "Setups", "body": "x"})
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    missing = [(cast.open_project, "setup"), (None, "setup")]
    with app.app_context(), statements(app) as seen, reading():
        found = did_you_mean.suggestions(ada, missing)
    # The project's own page takes precedence over the global one with the same slug.
    assert found == {
        (cast.open_project, "setup"): [(None, "setups"), (cast.open_project, "set-up")],
        (None, "setup"): [(None, "setups"), (None, "set-up")],
    }
    (asked,) = [one for one in seen if "wiki_pages" in one]
    assert "body" not in asked
