"""The page of a ticket as it was at an earlier time, and its slider."""

import re
import time

import pytest

from app.core.clock import iso, now_ms
from tests.support.story import make_ticket, ok
from tests.tickets.test_past import without_labels

PAGE = {"Accept": "text/html"}


@pytest.fixture
def ticket(cast):
    made = make_ticket(cast.ada, cast.open_project, "First title", body="The **first** text")
    return made["display_id"]


@pytest.fixture
def page(cast):
    def get(path, status=200, **headers):
        answer = cast.ada.client.get(path, headers=PAGE | headers)
        assert answer.status_code == status, answer.get_data(as_text=True)
        return answer.get_data(as_text=True)

    return get


def moment():
    time.sleep(0.003)
    found = iso(now_ms())
    time.sleep(0.003)
    return found


def test_it_shows_what_the_ticket_was(cast, ticket, page):
    comment = ok(cast.ada.post(f"/tickets/{ticket}/comments", {"body": "Early words"}), 201)["id"]
    then = moment()
    ok(cast.ada.patch(f"/tickets/{ticket}", {"title": "Second", "body": "Other"}))
    ok(cast.ada.patch(f"/comments/{comment}", {"body": "Late words"}))
    ok(cast.ada.post(f"/tickets/{ticket}/comments", {"body": "A later comment"}), 201)
    shown = page(f"/tickets/{ticket}?at={then}")
    for text in ("First title", "<strong>first</strong>", "Early words"):
        assert text in shown
    for text in ("Second", "Late words", "A later comment"):
        assert text not in shown
    # The page is read-only: nothing on it changes the ticket.
    article = re.search(r"<article.*</article>", shown, re.S)[0]
    assert "<form" not in article
    assert "/fields/" not in shown
    assert "Late words" in page(f"/tickets/{ticket}?at={moment()}")


def test_the_slider_goes_over_the_changes(cast, ticket, page):
    for number in (1, 2):
        ok(cast.ada.patch(f"/tickets/{ticket}", {"title": f"Title {number}"}))
        moment()
    assert f'href="/tickets/{ticket}?change=last"' in page(f"/tickets/{ticket}")
    shown = page(f"/tickets/{ticket}?change=2")
    assert "<h1>Title 1</h1>" in shown
    assert 'min="1" max="3" value="2"' in shown
    earlier, later = re.findall(r'href="([^"]+\?at=[^"]+)">(?:Earlier|Later)', shown)
    assert "<h1>First title</h1>" in page(earlier)
    assert "<h1>Title 2</h1>" in page(later)
    assert "<h1>Title 2</h1>" in page(f"/tickets/{ticket}?change=last")
    for odd in ("0", "99999", "-1", "\u0663", "x" * 9):
        assert "<h1>" in page(f"/tickets/{ticket}?change={odd}")
    # htmx receives the part that the slider replaces.
    part = page(f"/tickets/{ticket}?change=1", **{"HX-Request": "true"})
    assert part.strip().startswith('<div id="past"')


def test_what_is_not_recorded_says_so(cast, ticket, page, monkeypatch):
    monkeypatch.setattr("app.projects.labels.MAX_NAMED_TICKETS", 0)
    monkeypatch.setattr("app.tickets.creating.record", without_labels)
    project = f"/projects/{cast.open_project}"
    label = ok(cast.ada.post(f"{project}/labels", {"name": "common"}), 201)["id"]
    made = make_ticket(cast.ada, cast.open_project, "Labelled", label_ids=[label])
    ticket, then = made["display_id"], moment()
    assert cast.ada.delete(f"{project}/labels/{label}").status_code == 204
    assert "Not recorded" in page(f"/tickets/{ticket}?at={then}")


def test_refusals(cast, ticket, page):
    page(f"/tickets/{ticket}?at=yesterday", 422)
    page(f"/tickets/{ticket}?at=2001-01-01T00:00:00Z", 404)
    page("/tickets/OPEN-99?change=1", 404)
