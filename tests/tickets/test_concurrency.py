"""Invariants under many concurrent callers; real threads, real commits, on both databases."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from tests.support.cast import Cast
from tests.support.story import events, make_label, make_ticket, ok, state_ids, walk

CALLERS = 64


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_64_creators_get_numbers_without_hole_or_duplicate(cast: Cast, app) -> None:
    def create(number: int) -> Any:
        # Every fifth one is refused, after its number would have been assigned.
        body: dict[str, Any] = {"title": f"Ticket {number}"}
        if number % 5 == 0:
            body["type"] = "subtask"
        return cast.smith.post(f"/projects/{cast.open_project}/tickets", body)

    answers = at_once(CALLERS, create)
    made = [answer.get_json() for answer in answers if answer.status_code == 201]
    assert Counter(answer.status_code for answer in answers) == {201: 51, 422: 13}
    assert sorted(ticket["ticket_number"] for ticket in made) == list(range(1, 52))
    assert len(events(app, event_type="ticket.created")) == 51


def test_one_of_many_claims_wins(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    claim = {"assignee_user_id": cast.smith.user_id, "expected_assignee_user_id": None}
    answers = at_once(32, lambda _: cast.smith.patch("/tickets/OPEN-1", claim))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 31}
    assert len(events(app, event_type="ticket.assigned")) == 1


def test_no_update_is_lost_under_if_match(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project, title="0")

    def increment(_: int) -> int:
        conflicts = 0
        while True:
            seen = cast.smith.get("/tickets/OPEN-1")
            title = str(int(seen.get_json()["title"]) + 1)
            answer = cast.smith.patch(
                "/tickets/OPEN-1", {"title": title}, headers={"If-Match": seen.headers["ETag"]}
            )
            if answer.status_code == 200:
                return conflicts
            assert answer.status_code == 409, answer.get_data(as_text=True)
            conflicts += 1

    at_once(16, increment)
    assert ok(cast.ada.get("/tickets/OPEN-1"))["title"] == "16"


def test_writers_of_one_ticket_without_if_match_all_succeed(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    priorities = ("low", "high", "urgent", "medium")
    answers = at_once(
        32, lambda n: cast.smith.patch("/tickets/OPEN-1", {"priority": priorities[n % 4]})
    )
    assert {answer.status_code for answer in answers} == {200}
    changes = [
        event.payload["changes"]["priority"] for event in events(app, event_type="ticket.updated")
    ]
    assert all(one["to"] == two["from"] for one, two in pairwise(changes))


def test_a_state_in_use_is_never_deleted(cast: Cast) -> None:
    project = cast.open_project
    for state in state_ids(cast.ada, project)[1:4]:
        tickets = [make_ticket(cast.ada, project)["display_id"] for _ in range(8)]

        def race(number: int, state: str = state, tickets: list[str] = tickets) -> Any:
            if number == 4:
                return cast.ada.delete(f"/projects/{project}/workflow-states/{state}")
            path = f"/tickets/{tickets[number % 8]}/transition"
            return cast.smith.post(path, {"state_id": state})

        answers = at_once(9, race)
        assert {answer.status_code for answer in answers} <= {200, 204, 409, 422}
        for display_id in tickets:
            assert ok(cast.ada.get(f"/tickets/{display_id}"))["state"] is not None


def test_a_label_may_go_while_tickets_take_it(cast: Cast) -> None:
    project = cast.open_project
    for name in ("one", "two", "three"):
        label = make_label(cast.ada, project, name)["id"]

        def race(number: int, label: str = label) -> Any:
            if number == 4:
                return cast.ada.delete(f"/projects/{project}/labels/{label}")
            body = {"title": "x", "label_ids": [label]}
            return cast.smith.post(f"/projects/{project}/tickets", body)

        answers = at_once(9, race)
        assert {answer.status_code for answer in answers} <= {201, 204, 422}
        made = {answer.json["id"] for answer in answers if answer.status_code == 201}
        (event,) = ok(cast.ada.get("/audit?event_type=label.deleted&limit=1"))["data"]
        # None is missing, so that undo can give the label back to each.
        assert set(event["payload"]["ticket_ids"]) == made
    rows = walk(cast.ada, f"/projects/{project}/tickets", 200)
    assert all(row["labels"] == [] for row in rows)


def test_blocks_edges_never_close_a_cycle(cast: Cast) -> None:
    for _ in range(2):
        make_ticket(cast.ada, cast.open_project)

    def relate(number: int) -> Any:
        source, target = ("OPEN-1", "OPEN-2") if number % 2 else ("OPEN-2", "OPEN-1")
        body = {"type": "blocks", "target_ticket_id": target}
        return cast.smith.post(f"/tickets/{source}/relations", body)

    answers = at_once(16, relate)
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 15}


def test_relations_of_two_tickets_come_and_go_from_both_ends(cast: Cast) -> None:
    for _ in range(2):
        make_ticket(cast.ada, cast.open_project)
    first = cast.smith.post(
        "/tickets/OPEN-1/relations", {"type": "duplicates", "target_ticket_id": "OPEN-2"}
    )
    relation = ok(first, 201)["id"]

    def change(number: int) -> Any:
        source, target = ("OPEN-1", "OPEN-2") if number % 2 else ("OPEN-2", "OPEN-1")
        if number % 4 == 0:
            return cast.smith.delete(f"/tickets/{source}/relations/{relation}")
        kind = ("relates_to", "duplicates", "blocks")[number % 3]
        body = {"type": kind, "target_ticket_id": target}
        return cast.smith.post(f"/tickets/{source}/relations", body)

    answers = at_once(16, change)
    assert {answer.status_code for answer in answers} <= {201, 204, 404, 409}


def test_one_watcher_of_many_tries(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    answers = at_once(16, lambda _: cast.smith.post("/tickets/OPEN-1/watchers"))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 15}
    assert len(events(app, event_type="ticket.watcher_added")) == 1


def test_tickets_placed_at_once_get_ranks_of_their_own(cast: Cast) -> None:
    """All are placed right below the first ticket, with the same order for everybody."""
    first = make_ticket(cast.ada, cast.open_project)["id"]
    others = [make_ticket(cast.ada, cast.open_project)["display_id"] for _ in range(16)]
    answers = at_once(
        16, lambda at: cast.smith.patch(f"/tickets/{others[at]}", {"rank_after": first})
    )
    ranks = [ok(answer)["rank"] for answer in answers]
    assert len(set(ranks)) == len(ranks)
    assert min(ranks) > ok(cast.ada.get(f"/tickets/{first}"))["rank"]
