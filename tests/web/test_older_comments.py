"""Comments that are older than those on a ticket's page."""

import re

import pytest

from app.tickets import stream_queries
from tests.support.story import ok
from tests.web.stream_on_page import REF, stream


@pytest.fixture
def of_two(monkeypatch):
    """Let a page show two comments."""
    monkeypatch.setattr(stream_queries, "COMMENTS_SHOWN", 2)
    stream_queries._comments.cache_clear()
    yield
    stream_queries._comments.cache_clear()


def older(page):
    found = re.search(r'href="([^"]+)"[^>]*>Show older comments', page.text)
    return found[1].replace("&amp;", "&") if found else None


def said(page):
    return re.findall(r"Comment (\d)", page.text)


def test_older_comments_are_read_page_by_page(ada, cast, path, of_two):
    made = [
        ok(cast.ada.post(f"{path}/comments", {"body": f"Comment {number}"}), 201)["id"]
        for number in range(1, 6)
    ]
    ok(cast.ada.delete(f"/comments/{made[1]}"), 204)
    page = ada.get(REF)
    assert re.findall(r"Comment (\d)", stream(page)) == ["4", "5"]
    page = ada.get(older(page))
    assert "<html" in page.text
    assert said(page) == ["3"]
    assert "A comment by Ada was deleted" in page.text
    page = ada.get(older(page), htmx=True)
    assert "<html" not in page.text
    assert said(page) == ["1"]
    assert older(page) is None
    assert "No older comments" in page.text


def test_older_comments_are_shown_of_whom_the_filter_asks(ada, cast, path, of_two):
    cast.smith.post(f"{path}/comments", {"body": "Comment 1"})
    for number in (2, 3, 4):
        cast.ada.post(f"{path}/comments", {"body": f"Comment {number}"})
    assert older(ada.get(f"{REF}?show=changes")) is None
    assert said(ada.get(older(ada.get(f"{REF}?show=bots")))) == ["1"]
    assert said(ada.get(older(ada.get(f"{REF}?show=comments")))) == ["1", "2"]


def test_nothing_is_older_than_all_that_a_page_shows(ada, cast, path, of_two):
    # The fixture's ticket already has one.
    cast.ada.post(f"{path}/comments", {"body": "Comment 1"})
    assert older(ada.get(REF)) is None


@pytest.mark.parametrize("before", ["none", "00000000-0000-7000-8000-000000000009"])
def test_nothing_is_older_than_what_is_not_here(ada, path, before):
    assert ada.get(f"{REF}/comments?before={before}").status_code == 404


def test_the_address_of_a_comment_leads_to_the_page_that_has_it(ada, cast, path, of_two):
    made = [
        ok(cast.ada.post(f"{path}/comments", {"body": f"Comment {number}"}), 201)["id"]
        for number in range(1, 7)
    ]
    ok(cast.ada.delete(f"/comments/{made[1]}"), 204)
    for place, comment in enumerate(made):
        address = ada.get(f"/comments/{comment}").location
        assert address.endswith(f"#comment-{comment}")
        assert address.startswith(f"{REF}#" if place >= 4 else f"{REF}/comments?before=")
        assert f'id="comment-{comment}"' in ada.get(address.partition("#")[0]).text
    # The page has comments on both sides of the deleted one.
    address = ada.get(f"/comments/{made[2]}").location
    assert said(ada.get(address.partition("#")[0])) == ["3", "4"]
