"""What a bot had read, in words: on the ticket, in its review, at sign-off and beside its event."""

import re

import pytest

from app.core import ids
from app.tickets.pages.reading_words import CommentTime, what_was_read
from tests.support.story import events, make_ticket, ok
from tests.web.stream_on_page import stream

TICKET_ID = ids.new_id()
BORN = ids.created_ms(TICKET_ID)
LATER = BORN + 1000
REVIEW = "/bots/smith/review"


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def said(receipt):
    """The sentence, with a star for each comment that it names."""
    words = what_was_read(receipt, TICKET_ID)
    return words and "".join("*" if isinstance(one, CommentTime) else one for one in words.pieces)


def comments(count, read, unread=None):
    missing = count - read if unread is None else unread
    named = [[ids.new_id(), LATER + number] for number in range(min(missing, 20))]
    return {"count": count, "read": read, "unread": named}


def of_ticket(read, count=0, known=0, **more):
    ticket = {"version": LATER, "read": read}
    return {"ticket": ticket, "comments": comments(count, known), **more}


def page(read, **more):
    changed = {"page_id": TICKET_ID, "revision": 3, "changed_at": LATER, "read": read}
    return {"page": changed, **more}


def rules(read):
    return {"page_id": TICKET_ID, "revision": 2, "changed_at": LATER, "read": read}


UNSURE = {"other_readers": ["a"]}
SENTENCES = [
    (of_ticket(LATER), "Read the ticket", False),
    (of_ticket(LATER, 1, 1), "Read the ticket and its comment", False),
    (of_ticket(LATER, 5, 5), "Read the ticket and all 5 comments", False),
    (of_ticket(LATER, 5, 4), "Read the ticket and 4 of 5 comments; comment from * not read", True),
    (
        of_ticket(LATER, 5, 2),
        "Read the ticket and 2 of 5 comments; comments from *, * and * not read",
        True,
    ),
    (
        of_ticket(LATER, 9, 2),
        "Read the ticket and 2 of 9 comments; 7 comments until * not read",
        True,
    ),
    (of_ticket(LATER, 1, 0), "Read the ticket, not its comment; comment from * not read", True),
    (
        of_ticket(LATER, 2, 0),
        "Read the ticket and no comments; comments from * and * not read",
        True,
    ),
    (of_ticket(BORN), "Read an earlier version of the ticket", True),
    (of_ticket(0), "Did not read the ticket", True),
    (
        of_ticket(0, 2, 1),
        "Did not read the ticket, but 1 of 2 comments; comment from * not read",
        True,
    ),
    (of_ticket(0, **UNSURE), "May not have read the ticket", False),
    (
        of_ticket(LATER, 2, 1, **UNSURE),
        "Read the ticket and 1 of 2 comments; comment from * may not have been read",
        False,
    ),
    (of_ticket(0, known_since=BORN), "May not have read the ticket", False),
    (of_ticket(0, known_since=BORN - 1), "Did not read the ticket", True),
    (of_ticket(BORN, known_since=LATER), "May not have read the ticket", False),
    (of_ticket(BORN, known_since=BORN), "Read an earlier version of the ticket", True),
    (page(3), "Read revision 3 of the page", False),
    (page(2), "Read revision 2 of the page, not 3", True),
    (page(0), "Did not read the page", True),
    (page(0, **UNSURE), "May not have read the page", False),
    (page(3, house_rules=rules(2)), "Read revision 3 of the page", False),
    (
        page(3, house_rules=rules(1)),
        "Read revision 3 of the page; read an earlier revision of the house rules",
        False,
    ),
    ({"house_rules": rules(0)}, "Did not read the house rules", False),
    ({"house_rules": rules(2)}, None, False),
    (None, None, False),
]


@pytest.mark.parametrize(("receipt", "expected", "is_lacking"), SENTENCES)
def test_a_receipt_in_words(receipt, expected, is_lacking):
    assert said(receipt) == expected
    words = what_was_read(receipt, TICKET_ID)
    assert (words is not None and words.is_lacking) == is_lacking


@pytest.fixture(name="unread")
def _unread(cast):
    """Add a comment that smith has not read when it changes OPEN-1; return its id."""
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1"
    ok(cast.ada.post(f"{path}/comments", {"body": "One"}), 201)
    ok(cast.smith.get(f"{path}/comments"))
    ok(cast.smith.get(path))
    ok(cast.smith.patch(path, {"priority": "high"}))
    made = ok(cast.ada.post(f"{path}/comments", {"body": "Two"}), 201)
    ok(cast.smith.post(f"{path}/transition", {"state_id": _state(cast), "comment": "Mine"}))
    return made["id"]


def _state(cast):
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    return states[2]["id"]


def test_the_ticket_says_it_once_for_each_request(ada, unread):
    page = ada.get("/tickets/OPEN-1")
    text = stream(page)
    assert "Read the ticket and its comment" in text
    # The move and its comment are one request, so this appears once.
    assert text.count("Read the ticket and 1 of 2 comments; comment from just now not read") == 1
    assert f'href="/tickets/OPEN-1#comment-{unread}"' in page.text
    assert page.text.count('class="reading lacking"') == 1


def test_a_comment_says_it_too(ada, cast):
    make_ticket(cast.ada, cast.open_project)
    ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "Mine"}), 201)
    assert "Did not read the ticket" in stream(ada.get("/tickets/OPEN-1"))
    assert "Did not read the ticket" in stream(ada.get("/tickets/OPEN-1?show=comments"))


def test_the_review_shows_what_was_changed_without_reading(ada, unread):
    text = text_of(ada.get(REVIEW))
    assert "Read the ticket and its comment" in text
    assert text.count("comment from just now not read") == 1
    text = text_of(ada.get(f"{REVIEW}?show=unread"))
    assert "Moved from Backlog to In progress" in text
    assert "Raised the priority" not in text
    # Only the full list, which shows everything, offers "Looks good".
    assert "good" not in text


@pytest.mark.usefixtures("unread")
def test_a_review_without_such_changes_says_so(ada, cast):
    path = "/tickets/OPEN-1"
    last = re.search(r'name="event_id" value="([^"]+)"', ada.get(REVIEW).text)[1]
    ada.post(REVIEW, event_id=last)
    ok(cast.smith.get(path))
    ok(cast.smith.get(f"{path}/comments"))
    ok(cast.smith.patch(path, {"priority": "low"}))
    text = text_of(ada.get(f"{REVIEW}?show=unread"))
    assert "Smith has made no changes without reading since your last review" in text


@pytest.mark.usefixtures("unread")
def test_the_event_and_the_sign_off_say_it(app, ada):
    moved = events(app, event_type="ticket.state_changed")[-1]
    for path in (f"/audit/events/{moved.id}", "/tickets/OPEN-1/sign-off"):
        assert "Read the ticket and 1 of 2 comments; comment from just now not read" in text_of(
            ada.get(path)
        )
