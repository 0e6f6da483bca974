"""A bot that creates too much is paused, and everyone is informed."""

import pytest

from app.core.clock import now_ms
from app.tickets import runaways
from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.statements import statements
from tests.support.story import add_file, event_types, events, invalid, make_ticket, ok, refused
from tests.web.conftest import Reader


@pytest.fixture(autouse=True)
def nothing_counted():
    """Start each test with no counted creations in this process."""
    runaways._unchecked.clear()


def limit(cast: Cast, number: int, project: str | None = None) -> None:
    body = {"bot_creation_limit": number}
    ok(cast.ada.patch(f"/projects/{project or cast.open_project}", body))
    runaways._unchecked.clear()


def create(cast: Cast, count: int, project: str | None = None) -> int:
    """Create tickets as smith until one is refused; return how many were created."""
    for made in range(count):
        body = {"title": f"Ticket {made}"}
        answer = cast.smith.post(f"/projects/{project or cast.open_project}/tickets", body)
        if answer.status_code != 201:
            refused(answer, 403, "auth.read_only_bot")
            return made
    return count


def smith_is_paused(cast: Cast) -> bool:
    return bool(ok(cast.ada.get(f"/bots/{cast.smith.user_id}"))["is_paused"])


def test_the_default_is_a_hundred(cast: Cast, app):
    project = ok(cast.ada.post("/projects", {"key": "NEW", "name": "New"}), 201)
    assert project["bot_creation_limit"] == 100
    assert create(cast, 105, project["id"]) == 101
    assert smith_is_paused(cast)
    event = events(app, event_type="bot.paused")[0]
    assert (event.actor_kind, event.actor_user_id) == ("system", None)
    assert event.target_id == cast.smith.user_id
    assert event.payload == {
        "username": "smith",
        "project_id": project["id"],
        "limit": 100,
    }


def test_files_of_tickets_comments_and_pages_count(cast: Cast):
    limit(cast, 3)
    path = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    comment = ok(cast.smith.post(f"{path}/comments", {"body": "Look"}), 201)["id"]
    page = {"title": "Lamps", "body": "x", "project_id": cast.open_project}
    page_id = ok(cast.ada.post("/wiki/pages", page), 201)["id"]
    for place in (path, f"/comments/{comment}", f"/wiki/pages/{page_id}"):
        assert not smith_is_paused(cast)
        add_file(cast.smith, place, place.encode())
    assert smith_is_paused(cast)
    # Files that people add do not count.
    ok(cast.ada.patch(f"/bots/{cast.smith.user_id}", {"is_paused": False}))
    for number in range(5):
        add_file(cast.ada, path, bytes([75 + number]))
    assert create(cast, 2) == 2


def test_what_is_on_a_deleted_ticket_or_page_does_not_count(cast: Cast):
    limit(cast, 3)
    path = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    page = {"title": "Lamps", "body": "x", "project_id": cast.open_project}
    page_path = f"/wiki/pages/{ok(cast.ada.post('/wiki/pages', page), 201)['id']}"
    ok(cast.smith.post(f"{path}/comments", {"body": "Look"}), 201)
    for place in (path, page_path):
        add_file(cast.smith, place, place.encode())
        ok(cast.ada.delete(place), 204)
    assert create(cast, 5) == 4


def test_tickets_and_comments_count_together(cast: Cast):
    limit(cast, 6)
    make_ticket(cast.ada, cast.open_project)
    assert create(cast, 3) == 3
    for _ in range(4):
        ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "And"}), 201)
    error = refused(
        cast.smith.post("/tickets/OPEN-1/comments", {"body": "And"}), 403, "auth.read_only_bot"
    )
    assert error["message"] == "This bot is paused. It can only read until a person resumes it."
    assert ok(cast.smith.get("/tickets/OPEN-1"))
    assert (
        "is paused"
        in Agent(cast.smith).refused("add_comment", ticket="OPEN-1", body="x")["message"]
    )


def test_a_comment_with_a_move_counts(cast: Cast):
    limit(cast, 1)
    ticket = make_ticket(cast.ada, cast.open_project)
    body = {"state_id": ticket["state_id"], "comment": "And"}
    for _ in range(2):
        ok(cast.smith.post("/tickets/OPEN-1/transition", body))
    assert smith_is_paused(cast)


def test_zero_is_no_limit(cast: Cast):
    limit(cast, 0)
    assert create(cast, 110) == 110
    assert not smith_is_paused(cast)


def test_people_and_other_bots_are_not_concerned(cast: Cast):
    limit(cast, 2, cast.fenced_project)
    for _ in range(4):
        make_ticket(cast.ada, cast.fenced_project)
    make_ticket(cast.fenced, cast.fenced_project)
    assert create(cast, 5, cast.fenced_project) == 3
    make_ticket(cast.fenced, cast.fenced_project)
    assert not ok(cast.ada.get(f"/bots/{cast.fenced.user_id}"))["is_paused"]


def test_each_project_counts_for_itself(cast: Cast):
    limit(cast, 3)
    limit(cast, 3, cast.fenced_project)
    assert create(cast, 3) == 3
    assert create(cast, 3, cast.fenced_project) == 3
    assert not smith_is_paused(cast)


def test_what_is_older_than_ten_minutes_does_not_count(cast: Cast, monkeypatch):
    limit(cast, 3)
    assert create(cast, 3) == 3
    later = now_ms() + runaways.WINDOW_MS + 1
    monkeypatch.setattr(runaways, "now_ms", lambda: later)
    assert create(cast, 1) == 1
    assert not smith_is_paused(cast)


def test_one_click_resumes_it_and_it_begins_anew(app, cast: Cast):
    limit(cast, 3)
    assert create(cast, 5) == 4
    for person in (cast.ada, cast.bo):
        page = Reader(person.client, app).get("/projects").text
        assert "smith is paused" in page
        assert "/bots/smith/review" in page
    answer = Reader(cast.bo.client, app).post(
        f"/bots/{cast.smith.user_id}", htmx=True, action="resume"
    )
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (204, "true")
    assert "smith is paused" not in Reader(cast.ada.client, app).get("/projects").text
    event = events(app, event_type="bot.resumed")[0]
    assert (event.actor_kind, event.actor_user_id) == ("human", cast.bo.user_id)
    assert create(cast, 5) == 4
    assert event_types(app, target_id=cast.smith.user_id).count("bot.paused") == 2


def test_people_pause_and_resume_one_bot(app, cast: Cast):
    bot = f"/bots/{cast.smith.user_id}"
    assert ok(cast.ada.patch(bot, {"is_paused": True}))["is_paused"]
    assert create(cast, 1) == 0
    make_ticket(cast.fenced, cast.fenced_project)
    assert not ok(cast.ada.patch(bot, {"is_paused": False}))["is_paused"]
    assert create(cast, 1) == 1
    kinds = ["bot.updated", "bot.paused", "bot.updated", "bot.resumed"]
    assert [
        kind for kind in event_types(app, target_id=cast.smith.user_id) if kind.startswith("bot.")
    ] == kinds


def test_a_bot_does_not_resume_itself(cast: Cast):
    refused(
        cast.smith.patch(f"/bots/{cast.smith.user_id}", {"is_paused": False}),
        403,
        "auth.forbidden",
        reason="humans_only",
    )


def test_the_limit_has_bounds(cast: Cast):
    path = f"/projects/{cast.open_project}"
    for number in (-1, 10_001, 2**40):
        invalid(cast.ada.patch(path, {"bot_creation_limit": number}), "bot_creation_limit")
    assert ok(cast.ada.patch(path, {"bot_creation_limit": 10_000}))["bot_creation_limit"] == 10_000


def test_most_writes_ask_nothing(app, cast: Cast):
    limit(cast, 100)
    create(cast, 1)
    with statements(app) as sent:
        create(cast, 40)
    assert sum("bot_creation_limit" in one and "resumed_at" in one for one in sent) <= 8


@pytest.mark.parametrize("processes", [2, 4])
def test_the_count_holds_over_processes(cast: Cast, monkeypatch, processes):
    """Each process has counted on its own for a while when another one reaches the limit."""
    known = [dict[tuple[str, str], runaways.UncheckedCreations]() for _ in range(processes)]
    limit(cast, 40)
    made = 0

    def create_on(process: int, count: int) -> None:
        nonlocal made
        monkeypatch.setattr(runaways, "_unchecked", known[process])
        made += create(cast, count)

    for process in range(processes):
        create_on(process, 1)
    create_on(0, 40 - processes)
    for process in range(1, processes):
        create_on(process, 40)
    assert smith_is_paused(cast)
    # The limit, what the other processes counted on their own, and the one that exceeds it.
    assert 40 < made <= 41 + runaways.TRUSTED_CREATIONS * (processes - 1)
