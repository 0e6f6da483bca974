"""The revisions of a page: history, comparison, restoring."""

import re
from html import unescape

from tests.web.wiki_on_page import WIKI, field


def test_history_and_diff(ada, cast, guide):
    text = ada.get(f"{WIKI}/set-up/history").text
    assert text.count('class="row revision"') == 3
    assert "No link" in text
    diff = ada.get(f"{WIKI}/set-up/diff?from=1&to=2").text
    assert "<del>[[nowhere]]</del>" in diff
    assert "<ins>words</ins>" in diff
    # The order of the two does not matter; by default the newest change is shown.
    swapped = ada.get(f"{WIKI}/set-up/diff?from=2&to=1").text
    assert "<del>[[nowhere]]</del>" in swapped
    assert "<ins>Setting up</ins>" in ada.get(f"{WIKI}/set-up/diff").text
    for wrong in ("from=1&to=9", "from=x", "from=-1", "to=1e3", "from=99999999999999999999"):
        assert ada.get(f"{WIKI}/set-up/diff?{wrong}").status_code == 404
    assert ada.get(f"{WIKI}/set-up/history/9").status_code == 404


def test_changes_are_shown_side_by_side_where_that_is_asked_for(ada, cast, guide):
    first = ada.get(f"{WIKI}/set-up/diff?from=1&to=2").text
    assert 'class="diff panel is-inline"' in first
    assert first.count("First line") == 1
    address = unescape(re.search(r'href="([^"]*view=split)"', first).group(1))
    split = ada.get(address).text
    assert 'class="diff panel is-split"' in split
    assert "<del>[[nowhere]]</del>" in split
    # Unchanged lines are in both columns, and read out once.
    twin = split.split('<ul class="diff-twin" aria-hidden="true">')[1].split("</ul>")[0]
    assert split.count("First line") == 2
    assert "First line" in twin
    # The link to a newer revision keeps the split view.
    newer = unescape(re.search(r'href="([^"]*)">Newer', split).group(1))
    assert newer.endswith("from=2&to=3&view=split")
    assert "is-split" in ada.get(newer).text
    assert "is-inline" in ada.get(f"{WIKI}/set-up/diff?view=nonsense").text


def test_a_long_history_has_pages(ada, cast, guide, monkeypatch):
    monkeypatch.setattr("app.wiki.page_queries.REVISIONS_SHOWN", 2)
    text = ada.get(f"{WIKI}/set-up/history").text
    assert text.count('class="row revision"') == 2
    older = re.search(r'href="([^"]*before=\d+)"', text).group(1)
    text = ada.get(older).text
    assert text.count('class="row revision"') == 1
    assert "Newest" in text


def test_restoring_is_a_new_revision(ada, cast, guide):
    old = ada.get(f"{WIKI}/set-up/history/1").text
    answer = ada.post(f"{WIKI}/set-up/history/1/restore", etag=field(old, "etag"))
    assert answer.location == f"{WIKI}/set-up"
    page = cast.ada.get(f"/wiki/pages/{guide['id']}").json
    assert (page["title"], page["revision_number"]) == ("Set up", 4)
    assert "[[nowhere]]" in page["body"]
    newest = cast.ada.get(f"/wiki/pages/{guide['id']}/revisions").json["data"][0]
    assert newest["summary"] == "Restored r1"
    stale = ada.post(f"{WIKI}/set-up/history/2/restore", etag=field(old, "etag"))
    assert stale.status_code == 409
