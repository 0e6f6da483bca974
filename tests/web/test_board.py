"""The board without a browser: columns, swimlanes, filters, views."""

import re

import pytest
from sqlalchemy import literal_column, update

from app.core.clock import DAY_MS, now_ms
from app.database.session import run_write, session
from app.tickets import board, stalled_bots
from app.tickets.models import Ticket
from tests.support.serving import until
from tests.web.cards_on_page import shown, swimlane_of
from tests.web.conftest import Reader


def test_a_card_says_what_matters(ada, cast, make, label, states):
    epic = make("The epic", type="epic")
    four = [label(f"label {number}") for number in range(4)]
    story = make(
        "All of it",
        parent_ticket_id=epic["id"],
        label_ids=four,
        priority="urgent",
        due_date="2020-01-02",
        assignee_user_id=cast.smith.user_id,
    )
    for state in ("Done", "To do"):
        make("A part", type="subtask", parent_ticket_id=story["id"], state_id=states[state])
    blocker = make("In the way")
    cast.ada.post(
        f"/tickets/{blocker['id']}/relations",
        {"type": "blocks", "target_ticket_id": story["id"]},
    )
    cast.smith.post(f"/tickets/{story['id']}/comments", {"body": "By a bot."})
    text = ada.get("/projects/OPEN/board?q=all+of+it").text
    card = re.search(r'<li class="card.*?</li>', text, re.DOTALL).group(0)
    assert "touched" in card
    assert "Smith, <time" in card
    assert 'aria-label="Smith, bot"' in card
    assert 'aria-label="Urgent priority"' in card
    assert "Overdue" in card
    assert "Blocked" in card
    assert "The epic</span>" in card
    assert "1/2" in card
    assert "1 comment" in re.sub(r"<[^>]+>", "", card)
    assert card.count('class="label') == 3
    assert "+1" in card
    # Epics are shown as cards only if the filter asks for them.
    assert "OPEN-1" not in shown(ada.get("/projects/OPEN/board").text)
    assert "OPEN-1" in shown(ada.get("/projects/OPEN/board?ticket_type=epic").text)


def test_what_is_done_for_long_is_left_to_the_list(ada, cast, make, states, age):
    old = make("Old", state_id=states["Done"])
    make("New", state_id=states["Done"])
    age(old["id"], 15)
    text = ada.get("/projects/OPEN/board").text
    assert shown(text) == ["OPEN-2"]
    assert "1 of 2" in text
    assert "1 older in list" in text
    assert f"/projects/OPEN/tickets?state_id={states['Done']}" in text
    assert shown(ada.get("/projects/OPEN/board?done=all").text) == ["OPEN-1", "OPEN-2"]


@pytest.fixture
def few_counted(monkeypatch):
    """Limit the count of a column's tickets to two."""
    board._totals.cache_clear()
    monkeypatch.setattr(board, "MAX_COUNT", 2)
    yield
    board._totals.cache_clear()


def test_a_column_of_very_many_is_counted_up_to_a_point(ada, make, few_counted):
    for said in ("1", "2", "2+", "4 of 2+"):
        make("One more")
        for path in ("/projects/OPEN/board", "/board"):
            assert f">{said}</span>" in ada.get(path).text, (path, said)


@pytest.fixture
def few_cards(monkeypatch):
    """Limit the cards of a column to two."""
    board._firsts.cache_clear()
    monkeypatch.setattr(board, "CARDS_PER_COLUMN", 2)
    monkeypatch.setattr(board, "_MAX_CARDS", literal_column("2"))
    yield
    board._firsts.cache_clear()


CUT = "Swimlanes and their counts cover the first 2 tickets of each column."


def counts_of_swimlanes(text):
    found = re.findall(
        r'class="count">\s*<span data-swimlane-count="(\w+)">(\d+)</span>(\+?)', text
    )
    return {swimlane: count + more for swimlane, count, more in found}


@pytest.mark.usefixtures("few_cards")
def test_swimlanes_that_leave_tickets_out_say_so_and_link_to_the_rest(ada, make, states):
    for priority in ("urgent", "urgent", "low"):
        text = ada.get("/projects/OPEN/board?group=priority").text
        assert "+" not in "".join(counts_of_swimlanes(text).values())
        assert CUT not in text
        make("One more", priority=priority, state_id=states["To do"])
    for query, more in (("", "1 more in list"), ("&q=more", "1 more in list")):
        text = ada.get(f"/projects/OPEN/board?group=priority{query}").text
        expected = {"urgent": "2+", "high": "0+", "medium": "0+", "low": "0+"}
        assert counts_of_swimlanes(text) == expected
        assert text.count(CUT) == 1
        head = re.search(rf'class="head-cell" data-column="{states["To do"]}".*?</p>', text, re.S)
        assert more in head.group(0)
        assert f"/projects/OPEN/tickets?{query[1:]}{'&amp;' if query else ''}state_id=" in text
        assert text.count("more in list") == 1
    text = ada.get("/board?group=priority").text
    assert counts_of_swimlanes(text)["urgent"] == "2+"
    assert 'href="/tickets?state_category=active"' in text


def test_swimlanes_link_to_what_is_done_for_long_and_count_what_they_show(ada, make, states, age):
    old = make("Old", priority="low", state_id=states["Done"])
    make("New", priority="low", state_id=states["Done"])
    age(old["id"], 15)
    text = ada.get("/projects/OPEN/board?group=priority").text
    assert "1 older in list" in text
    assert counts_of_swimlanes(text)["low"] == "1"


@pytest.fixture
def age(app):
    """A function that sets the last change of a ticket to so many days ago."""

    def aged(ticket_id, days):
        moment = now_ms() - days * DAY_MS
        with app.app_context():
            run_write(
                lambda: session.execute(
                    update(Ticket).where(Ticket.id == ticket_id).values(updated_at=moment)
                )
            )

    return aged


def test_filters_narrow_the_board(ada, cast, make):
    first, second = make("The first"), make("The second")
    make("The third", assignee_user_id=cast.ada.user_id)
    make("The fourth", priority="high")
    cast.ada.post(
        f"/tickets/{first['id']}/relations", {"type": "blocks", "target_ticket_id": second["id"]}
    )
    for query, found in (
        ("ready=true", {"OPEN-1", "OPEN-4"}),
        ("blocked=true", {"OPEN-2"}),
        ("assignee_user_id=me", {"OPEN-3"}),
        ("assignee_user_id=none&priority=high", {"OPEN-4"}),
        ("q=fourth", {"OPEN-4"}),
        ("q=open-2", {"OPEN-2"}),
        ("q=nothing+like+it", set()),
        ("quiet=true", set()),
        ("ready=maybe&priority=nonsense", {"OPEN-1", "OPEN-2", "OPEN-3", "OPEN-4"}),
    ):
        assert set(shown(ada.get(f"/projects/OPEN/board?{query}").text)) == found, query


def test_a_stalled_bot_is_found(ada, cast, make, states, age, monkeypatch):
    make("Quiet", assignee_user_id=cast.smith.user_id, state_id=states["In progress"])
    busy = make("Busy", assignee_user_id=cast.smith.user_id, state_id=states["In progress"])
    # A ticket that was just assigned does not count as stalled.
    assert shown(ada.get("/projects/OPEN/board?quiet=true").text) == []
    monkeypatch.setitem(stalled_bots._limits, "stalled_after_ms", 500)
    until(lambda: len(shown(ada.get("/projects/OPEN/board?quiet=true").text)) == 2)
    cast.smith.post(f"/tickets/{busy['id']}/comments", {"body": "Working."})
    assert shown(ada.get("/projects/OPEN/board?quiet=true").text) == ["OPEN-1"]


def test_chips_take_themselves_away(ada):
    text = ada.get("/projects/OPEN/board?priority=high&priority=low&group=assignee").text
    chips = re.findall(r'class="filter-chip" href="([^"]+)"', text)
    assert chips == [
        "/projects/OPEN/board?priority=low&amp;group=assignee",
        "/projects/OPEN/board?priority=high&amp;group=assignee",
    ]


def test_swimlanes(ada, cast, make, label, states):
    bug, wish = label("bug"), label("wish")
    epic = make("The epic", type="epic")
    story = make("A story", parent_ticket_id=epic["id"], label_ids=[wish, bug])
    make("A part", type="subtask", parent_ticket_id=story["id"], priority="low")
    make("Alone", assignee_user_id=cast.ada.user_id)
    swimlanes = {
        grouping: {
            reference: swimlane_of(
                ada.get(f"/projects/OPEN/board?group={grouping}").text, reference
            )
            for reference in ("OPEN-2", "OPEN-3", "OPEN-4")
        }
        for grouping in ("assignee", "epic", "priority", "label")
    }
    assert swimlanes["assignee"] == {"OPEN-2": "none", "OPEN-3": "none", "OPEN-4": cast.ada.user_id}
    assert swimlanes["epic"] == {"OPEN-2": epic["id"], "OPEN-3": epic["id"], "OPEN-4": "none"}
    assert swimlanes["priority"] == {"OPEN-2": "medium", "OPEN-3": "low", "OPEN-4": "medium"}
    assert swimlanes["label"] == {"OPEN-2": bug, "OPEN-3": "none", "OPEN-4": "none"}
    text = ada.get("/projects/OPEN/board?group=priority").text
    assert re.findall(r'id="swimlane-(\w+)"', text) == ["urgent", "high", "medium", "low"]


def test_the_board_of_all_has_a_column_a_category(ada, cast, make, states):
    make("Here", state_id=states["In review"])
    cast.ada.post(f"/projects/{cast.fenced_project}/tickets", {"title": "There"})
    text = ada.get("/board").text
    assert set(shown(text)) == {"OPEN-1", "FENCED-1"}
    assert re.findall(r'id="head-(\w+)"', text) == ["backlog", "active", "done"]
    narrowed = ada.get(f"/board?project_id={cast.open_project}").text
    assert shown(narrowed) == ["OPEN-1"]
    # Filters that do not apply to all projects are ignored.
    assert ada.get("/board?group=label&label_id=x&state_id=y").status_code == 200
    cast.ada.delete(f"/projects/{cast.fenced_project}")
    assert shown(ada.get("/board").text) == ["OPEN-1"]


def test_views_are_a_persons_own(ada, cast, app):
    saved = {"project": "OPEN", "back": "/projects/OPEN/board"}
    answer = ada.post("/views", name="Hot", query="priority=high&group=epic", **saved)
    assert answer.location == "/projects/OPEN/board?priority=high&group=epic"
    ada.post("/views", name="Hot", query="priority=urgent", **saved)
    text = ada.get("/projects/OPEN/board").text
    assert 'href="/projects/OPEN/board?priority=urgent">Hot' in text
    assert "group=epic" not in text
    assert "Hot" in ada.get("/projects/OPEN/tickets").text
    assert "Hot" not in ada.get("/projects/FENCED/board").text
    assert "Hot" not in ada.get("/board").text
    bo = Reader(cast.bo.client, app)
    assert "Hot" not in bo.get("/projects/OPEN/board").text
    identifier = re.search(r"/views/([\w-]+)/delete", text).group(1)
    assert bo.post(f"/views/{identifier}/delete").status_code == 404
    gone = ada.post(f"/views/{identifier}/delete", back="/projects/OPEN/board")
    assert gone.location == "/projects/OPEN/board"
    assert "Hot" not in ada.get("/projects/OPEN/board").text


def test_a_view_without_a_name_is_refused_and_kept(ada):
    answer = ada.post("/views", name="  ", query="priority=high", back="/board")
    assert answer.status_code == 422
    assert 'value="priority=high"' in answer.text
    assert ada.post("/views", name="x" * 81, query="", back="/board").status_code == 422
    assert ada.post("/views", name="Long", query="q=" + "x" * 3000, back="/").status_code == 422
    assert ada.post("/views", name="All", query="", back="//evil.example").location == "/"
