"""Boards are cached while nothing changes, and rendered again as soon as something does."""

import gzip
import threading
import time

import pytest
from markupsafe import Markup

from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Unavailable
from app.database.session import reading
from app.tickets import cards
from app.tickets.board import Shape
from app.tickets.pages import board_cache
from tests.support.cases import cases
from tests.web.cards_on_page import shown

BOARD = "/projects/OPEN/board"


@pytest.fixture
def reads_cards(ada):
    """A function that returns whether opening a board reads its cards."""

    def reading(path=BOARD, **headers):
        with ada.statements() as seen:
            assert ada.get(path, **headers).status_code == 200
        return any("category" in one and "epic_title" in one for one in seen)

    return reading


def test_a_board_is_made_once_while_nothing_happens(ada, ticket, reads_cards):
    assert reads_cards()
    first = ada.get(BOARD).text
    assert not reads_cards()
    assert shown(ada.get(BOARD).text) == shown(first) == ["OPEN-1", "OPEN-2"]


def test_those_who_ask_at_once_have_it_made_once(app, cast, ticket):
    together, made, got = threading.Barrier(4), [], []

    def make():
        made.append("columns")
        time.sleep(0.2)
        return Markup("columns")

    def ask():
        with app.test_request_context(), reading():
            found = board_cache.find(Shape(cast.open_project))
            together.wait(10)
            got.append(board_cache.fill(found, make))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert made == ["columns"]
    assert got == ["columns"] * 4


def test_whoever_cannot_wait_makes_it_too_and_a_failure_keeps_nobody_waiting(
    app, cast, monkeypatch
):
    monkeypatch.setattr(board_cache, "RENDER_WAIT_SECONDS", 0.01)

    def fail():
        with pytest.raises(Unavailable):
            board_cache.fill(found, lost)
        return Markup("after a failure")

    def lost():
        raise Unavailable

    with app.test_request_context(), reading():
        found = board_cache.find(Shape(cast.open_project))
        # The inner call waits in vain for the outer one.
        assert board_cache.fill(found, fail) == "after a failure"
        assert board_cache.find(Shape(cast.open_project)).columns is not None


def test_a_look_that_fails_keeps_nobody_waiting(app, cast, monkeypatch):
    with app.test_request_context(), reading():
        found = board_cache.find(Shape(cast.open_project))
        (lock,) = {board_cache._making[hash(found.key) % len(board_cache._making)]}
        lock.acquire()
        threading.Timer(0.05, lock.release).start()
        monkeypatch.setattr(board_cache, "find", lambda _shape: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            board_cache.fill(found, lambda: "columns")
        assert not lock.locked()


@cases("path", [BOARD, "/board", f"{BOARD}?group=assignee", f"{BOARD}?done=all"])
def test_each_board_is_cached_for_itself(reads_cards, ticket, path):
    assert reads_cards(path)
    assert not reads_cards(path)


def test_a_filtered_board_is_made_each_time(reads_cards, ticket):
    assert reads_cards(f"{BOARD}?priority=medium")
    assert reads_cards(f"{BOARD}?priority=medium")


def _renamed(cast, ticket):
    cast.ada.patch(f"/tickets/{ticket['id']}", {"title": "Seen at once"})


def _created(cast, ticket):
    cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "Seen at once"})


def _labelled(cast, ticket):
    label = ticket["labels"][0]["id"]
    cast.ada.patch(f"/projects/{cast.open_project}/labels/{label}", {"name": "Seen at once"})


def _column_renamed(cast, ticket):
    path = f"/projects/{cast.open_project}/workflow-states/{ticket['state']['id']}"
    cast.ada.patch(path, {"name": "Seen at once"})


CHANGES = [_renamed, _created, _labelled]


@pytest.mark.parametrize(
    ("path", "change"),
    # The board of all projects shows no state names.
    [(BOARD, _column_renamed), *((path, one) for path in (BOARD, "/board") for one in CHANGES)],
)
def test_what_a_board_shows_is_seen_at_once(ada, cast, ticket, path, change):
    assert "Seen at once" not in ada.get(path).text
    change(cast, ticket)
    assert "Seen at once" in ada.get(path).text


@pytest.mark.parametrize("path", [BOARD, "/board"])
@pytest.mark.parametrize("kind", ["users", "bots"])
def test_a_new_name_is_seen_at_once(ada, cast, ticket, path, kind):
    user_id = {"users": cast.bo, "bots": cast.smith}[kind].user_id
    cast.ada.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": user_id})
    assert "Seen at once" not in ada.get(path).text
    cast.ada.patch(f"/{kind}/{user_id}", {"display_name": "Seen at once"})
    assert "Seen at once" in ada.get(path).text.partition('id="board"')[2]


def test_what_blocks_from_another_project_is_seen_at_once(ada, cast, ticket):
    blocker = cast.ada.post(f"/projects/{cast.fenced_project}/tickets", {"title": "Before"}).json
    assert ">Blocked<" not in _card(ada.get(BOARD).text, "OPEN-1")
    cast.ada.post(
        f"/tickets/{blocker['id']}/relations",
        {"type": "blocks", "target_ticket_id": ticket["id"]},
    )
    assert ">Blocked<" in _card(ada.get(BOARD).text, "OPEN-1")
    states = cast.ada.get(f"/projects/{cast.fenced_project}/workflow-states").json["data"]
    done = next(one["id"] for one in states if one["category"] == "done")
    cast.ada.post(f"/tickets/{blocker['id']}/transition", {"state_id": done})
    assert ">Blocked<" not in _card(ada.get(BOARD).text, "OPEN-1")


def _card(text, reference):
    return text.split(f'data-ref="{reference}"')[1].split("</li>")[0]


def test_what_passes_with_time_is_seen_within_a_minute(ada, cast, ticket, monkeypatch):
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "By a bot."})
    assert "Smith, <time" in ada.get(BOARD).text
    later = now_ms() + cards.TOUCH_MS + MINUTE_MS
    for place in ("app.tickets.cards", "app.tickets.pages.board_cache", "app.tickets.changes"):
        monkeypatch.setattr(f"{place}.now_ms", lambda: later)
    assert "Smith, <time" not in ada.get(BOARD).text


def test_a_clock_that_was_set_back_keeps_no_board(ada, ticket, reads_cards, monkeypatch):
    assert reads_cards()
    earlier = now_ms() - 5 * MINUTE_MS
    monkeypatch.setattr("app.tickets.pages.board_cache.now_ms", lambda: earlier)
    assert reads_cards()


def test_who_reads_exact_times_gets_no_other_ones(ada, cast, ticket):
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "By a bot."})
    assert "just now" in ada.get(BOARD).text
    ada.client.set_cookie("times", "exact")
    assert "just now" not in ada.get(BOARD).text
    ada.client.delete_cookie("times")
    assert "just now" in ada.get(BOARD).text


def test_a_cached_board_of_a_deleted_project_is_gone(ada, cast, ticket):
    ada.get(BOARD)
    cast.ada.delete(f"/projects/{cast.open_project}")
    assert ada.get(BOARD).status_code == 410
    assert "OPEN-1" not in shown(ada.get("/board").text)


def test_packed_it_says_the_same(ada, ticket):
    plain = ada.get(BOARD)
    packed = ada.get(BOARD, **{"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "HX-Request, Accept-Encoding"
    assert int(packed.headers["Content-Length"]) == len(packed.data) < len(plain.data)
    assert _card(gzip.decompress(packed.data).decode(), "OPEN-1") == _card(plain.text, "OPEN-1")
    assert gzip.decompress(packed.data).decode().endswith(plain.text[-200:])


def test_a_script_gets_the_cached_columns_too(ada, ticket, reads_cards):
    ada.get(BOARD)
    assert not reads_cards(BOARD, **{"HX-Request": "true"})
    fragment = ada.get(BOARD, htmx=True).text
    assert shown(fragment) == ["OPEN-1", "OPEN-2"]
    assert "<html" not in fragment


def test_few_boards_are_cached(ada, cast, reads_cards, monkeypatch):
    groups = ("", "epic", "priority", "label", "assignee")
    paths = [f"{BOARD}?group={one}&done={done}" for done in ("", "all") for one in groups]
    sizes = [
        len(ada.get(path).text.partition('id="board"')[2].partition('id="pill"')[0])
        for path in paths
    ]
    monkeypatch.setattr("app.tickets.pages.board_cache.CAPACITY", sum(sizes) // 2)
    monkeypatch.delitem(ada.app.extensions, "docket_boards")
    assert all(reads_cards(path) for path in paths)
    # The most recently used boards stay in the cache.
    assert [reads_cards(path) for path in (paths[-1], paths[0])] == [False, True]
