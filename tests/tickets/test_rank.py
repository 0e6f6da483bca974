"""Manual order: rank, rank_after and rank_before."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tickets import rank
from app.tickets.rank import DIGITS, between, initial, spread
from tests.support.cast import Cast
from tests.support.story import events, invalid, make_ticket, ok


def order(who, project) -> list[str]:
    """Return the display ids of a project's tickets by rank."""
    tickets = ok(who.get(f"/projects/{project}/tickets?limit=100"))["data"]
    return [one["display_id"] for one in sorted(tickets, key=lambda one: one["rank"])]


@pytest.fixture
def four(cast: Cast) -> list[dict]:
    return [make_ticket(cast.ada, cast.open_project) for _ in range(4)]


def test_a_new_ticket_stands_below_the_others_of_its_priority(cast: Cast) -> None:
    for priority in ("low", "medium", "urgent", "high", "medium", "urgent"):
        make_ticket(cast.ada, cast.open_project, priority=priority)
    assert order(cast.ada, cast.open_project) == [
        "OPEN-3",
        "OPEN-6",
        "OPEN-4",
        "OPEN-2",
        "OPEN-5",
        "OPEN-1",
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"rank_after": 2}, ["OPEN-2", "OPEN-3", "OPEN-1", "OPEN-4"]),
        ({"rank_before": 3}, ["OPEN-2", "OPEN-3", "OPEN-1", "OPEN-4"]),
        ({"rank_after": None}, ["OPEN-2", "OPEN-3", "OPEN-4", "OPEN-1"]),
        ({"rank_before": None}, ["OPEN-1", "OPEN-2", "OPEN-3", "OPEN-4"]),
    ],
)
def test_a_ticket_is_placed_beside_another_or_at_an_end(cast: Cast, four, body, expected) -> None:
    body = {name: None if at is None else four[at]["id"] for name, at in body.items()}
    moved = ok(cast.ada.patch("/tickets/OPEN-1", body))
    assert moved["rank"] == ok(cast.ada.get("/tickets/OPEN-1"))["rank"]
    assert order(cast.ada, cast.open_project) == expected


def test_placing_records_one_event_and_staying_none(cast: Cast, four, app) -> None:
    before = four[3]["rank"]
    moved = ok(cast.smith.patch("/tickets/OPEN-4", {"rank_after": four[0]["id"]}))
    ok(cast.smith.patch("/tickets/OPEN-4", {"rank_before": four[1]["id"]}))
    (event,) = events(app, event_type="ticket.updated")
    assert event.payload == {"changes": {"rank": {"from": before, "to": moved["rank"]}}}


def test_what_names_no_place_is_refused(cast: Cast, four) -> None:
    other = make_ticket(cast.ada, cast.fenced_project)["id"]
    ok(cast.ada.delete("/tickets/OPEN-2"), 204)
    for body, field in (
        ({"rank_after": four[0]["id"]}, "rank_after"),
        ({"rank_before": other}, "rank_before"),
        ({"rank_after": four[1]["id"]}, "rank_after"),
        ({"rank_after": None, "rank_before": None}, "rank_before"),
        ({"rank": "5"}, "rank"),
    ):
        invalid(cast.ada.patch("/tickets/OPEN-1", body), field)


def test_neighbors_make_room_without_an_event_or_a_new_version(
    cast: Cast, four, app, monkeypatch
) -> None:
    """The same two cards alternate between the first and the second place."""
    monkeypatch.setattr(rank, "MAX_LENGTH", 8)
    turns = 40
    etag = cast.ada.get("/tickets/OPEN-1").headers["ETag"]
    for number in range(turns):
        one = four[2 + number % 2]["display_id"]
        moved = ok(cast.ada.patch(f"/tickets/{one}", {"rank_after": four[0]["id"]}))
        assert len(moved["rank"]) <= 8
    assert order(cast.ada, cast.open_project) == ["OPEN-1", "OPEN-4", "OPEN-3", "OPEN-2"]
    assert cast.ada.get("/tickets/OPEN-1").headers["ETag"] == etag
    # The rank has changed nevertheless, so an earlier response is not current.
    again = cast.ada.get("/tickets/OPEN-1", headers={"If-None-Match": etag})
    assert again.status_code == 200
    assert len(events(app, event_type="ticket.updated")) == turns


RANKS = st.text(DIGITS, max_size=8).map(lambda text: f"{text}V")


@given(low=st.just("") | RANKS, high=st.just("") | RANKS)
def test_between_two_ranks_there_is_always_another(low: str, high: str) -> None:
    if high and low > high:
        low, high = high, low
    if low == high != "":
        with pytest.raises(ValueError, match="nothing lies"):
            between(low, high)
        return
    made = between(low, high)
    assert low < made
    assert not high or made < high
    assert not made.endswith(DIGITS[0])


@given(low=st.just("") | RANKS, count=st.integers(0, 300))
def test_spread_ranks_are_in_order_and_short(low: str, count: int) -> None:
    made = list(spread(low, "", count))
    assert len(made) == count
    assert all(one < other for one, other in itertools.pairwise([low, *made]))
    assert max(map(len, made), default=0) <= len(low) + 3


def test_initial_ranks_sort_by_priority_and_number() -> None:
    ranks = [
        initial(priority, number)
        for priority in ("urgent", "high", "medium", "low")
        for number in (1, 9, 10, 1_000_000)
    ]
    assert ranks == sorted(ranks)
