"""Saving a field of a ticket while others save theirs."""

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
