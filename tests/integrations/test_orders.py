"""Deliveries in any order, some repeated, lead to the same links and states."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integrations.deliveries import FORGES, Connected, checked, pull_request
from tests.support.sizes import every
from tests.support.story import make_ticket, ok

STORY = (
    {"second": 1, "body": "OPEN-1", "draft": True},
    {"second": 2, "body": "OPEN-1", "action": "ready_for_review"},
    # Within the same second as the previous one.
    {"second": 2, "body": "OPEN-1 and OPEN-2", "action": "edited", "title": "Mend both"},
    {"second": 3, "body": "Nothing", "action": "closed", "state": "closed"},
    {"second": 4, "body": "fixes OPEN-3", "action": "reopened"},
    {"second": 5, "body": "fixes OPEN-1, OPEN-2", "action": "closed", "state": "merged"},
    {"second": 6, "body": "fixes OPEN-3", "action": "edited", "state": "merged", "title": "Mended"},
)
CHECKS = (
    (1, "pending", 1),
    (2, "failure", 1),
    (2, "pending", 2),
    (4, "success", 1),
    (5, "success", 2),
)


def told(forge):
    return [pull_request(forge, **one) for one in STORY] + [checked(forge, *one) for one in CHECKS]


def result(cast, forge, order, number):
    """Return the links and states after these deliveries, on a new project's tickets."""
    key = f"P{number}"
    project = ok(cast.ada.post("/projects", {"key": key, "name": key}), 201)["id"]
    at = Connected(cast, forge, project_ids=[project])
    for _ in range(3):
        make_ticket(cast.ada, project)
    for event, payload in order:
        at.deliver((event, json.loads(json.dumps(payload).replace("OPEN-", f"{key}-"))))
    return {
        number: (
            at.state(f"{key}-{number}"),
            [
                (link["title"], link["state"], link["checks"])
                for link in at.links(f"{key}-{number}")
            ],
        )
        for number in (1, 2, 3)
    }


@pytest.mark.parametrize("forge", every(2, FORGES))
def test_any_order_ends_the_same(cast, forge):
    straight = told(forge)
    expected = result(cast, forge, straight, 1)
    last = [("Mended", "merged", "passing")]
    assert expected == {1: ("Done", last), 2: ("Done", last), 3: ("Backlog", last)}
    # In the first of these orders, an older delivery comes last.
    for seed in every(40, range(20, 60)):
        dice = random.Random(seed)
        order = straight + dice.sample(straight, 4)
        dice.shuffle(order)
        assert result(cast, forge, order, seed + 2) == expected, seed


def test_all_of_them_at_once_end_the_same(cast):
    """Real threads: each delivery is sent twice, and none is lost or refused."""
    at = Connected(cast)
    for _ in range(3):
        make_ticket(cast.ada, cast.open_project)
    news = told("github") * 2
    with ThreadPoolExecutor(len(news)) as pool:
        answers = list(pool.map(lambda one: at.send(*one), news))
    assert {answer.status_code for answer in answers} == {200}
    last = [("Mended", "merged", "passing")]
    for ticket, state in (("OPEN-1", "Done"), ("OPEN-2", "Done"), ("OPEN-3", "Backlog")):
        shown = [(one["title"], one["state"], one["checks"]) for one in at.links(ticket)]
        assert (at.state(ticket), shown) == (state, last)
