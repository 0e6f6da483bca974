"""Saving a field of a ticket: what others saved meanwhile, and what browsers do to line breaks."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

REF = "/tickets/OPEN-1"


@pytest.fixture
def path(ticket):
    return f"/tickets/{ticket['id']}"


def at_once(count, work):
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_of_many_saves_that_saw_the_same_title_one_is_made(ada, cast, path):
    title = cast.ada.get(path).json["title"]

    def save(number: int) -> int:
        sent = {"seen": title, "value": f"Title {number}"}
        return ada.post(f"{REF}/fields/title", htmx=True, **sent).status_code

    assert Counter(at_once(16, save)) == {200: 1, 409: 15}


def test_labels_that_many_add_at_once_all_stay(ada, cast, ticket, path, label):
    bug = ticket["labels"][0]["id"]
    made = [label(f"label {number}") for number in range(12)]

    def add(number: int) -> int:
        sent = {"seen": bug, "value": [bug, made[number]]}
        return ada.post(f"{REF}/fields/labels", htmx=True, **sent).status_code

    assert set(at_once(len(made), add)) == {200}
    assert {one["id"] for one in cast.ada.get(path).json["labels"]} == {bug, *made}


@pytest.mark.parametrize("name", ["title", "body"])
def test_a_text_with_a_lone_carriage_return_can_be_edited(ada, cast, path, name):
    cast.ada.patch(path, {name: "one\rtwo"})
    # HTML knows LF only as a line break, and forms send it as CRLF.
    sent = {"seen": "one\r\ntwo", "value": "one\r\nthree"}
    assert ada.post(f"{REF}/fields/{name}", htmx=True, **sent).status_code == 200
    assert cast.ada.get(path).json[name] == "one\nthree"


def test_other_line_breaks_are_no_change_of_a_description(ada, cast, path):
    before = cast.ada.patch(path, {"body": "one\rtwo\r\n"}).json
    sent = {"seen": "one\r\ntwo\r\n", "value": "one\r\ntwo\r\n"}
    assert ada.post(f"{REF}/fields/body", htmx=True, **sent).status_code == 200
    assert cast.ada.get(path).json["updated_at"] == before["updated_at"]


def test_changes_of_a_text_with_lone_carriage_returns_are_put_together(ada, cast, path):
    cast.ada.patch(path, {"body": "1st\rtwo\rthree"})
    sent = {"seen": "one\r\ntwo\r\nthree", "value": "one\r\ntwo\r\n3rd"}
    page = ada.post(f"{REF}/fields/body", htmx=True, **sent)
    assert page.status_code == 409
    assert "\n1st\ntwo\n3rd</textarea>" in page.text
