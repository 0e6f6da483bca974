"""The board without a browser: columns, lanes, filters, what is new, moves, quick add, views."""

import re
import time

import pytest
from sqlalchemy import insert, update

from app.audit.models import AuditEvent
from app.core.clock import DAY_MS, now_ms
from app.core.db import run_write, session
from app.tickets import board, quiet
from app.tickets.changes import OVERLAP_MS
from app.tickets.models import Ticket
from tests.web.conftest import Reader


def shown(text: str) -> list[str]:
    """The display ids of the cards on a page, in order."""
    return re.findall(r'class="card[^"]*" id="[^"]+" data-ref="([\w-]+)"', text)


def lane_of(text: str, reference: str) -> str:
    """The lane that a card says it is in."""
    return re.search(rf'data-ref="{reference}"[^>]*data-lane="([^"]*)"', text).group(1)


def reads(seen: list[str]) -> list[str]:
    """What was asked of the database: who asks, and what is new."""
    return [one for one in seen if one != "BEGIN"]


def token_in(text: str) -> str:
    """What to ask with for what is new."""
    return re.search(r'data-since="([^"]+)"', text).group(1)


def opened(ada: Reader, path: str = "/projects/OPEN/board") -> str:
    """Open a board and look once: the token after what was there already."""
    token = token_in(ada.get(path).text)
    mark = "&" if "?" in path else "?"
    address = path.replace("/board", "/board/live")
    answer = ada.get(f"{address}{mark}since={token}", htmx=True)
    return token_in(answer.text) if answer.status_code == 200 else token


# What a board shows.


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
    # An epic is no card unless it is asked for.
    assert "OPEN-1" not in shown(ada.get("/projects/OPEN/board").text)
    assert "OPEN-1" in shown(ada.get("/projects/OPEN/board?ticket_type=epic").text)


def test_what_is_done_for_long_is_left_to_the_list(ada, cast, make, states, age):
    old = make("Old", state_id=states["Done"])
    make("New", state_id=states["Done"])
    age(old["id"], 15)
    text = ada.get("/projects/OPEN/board").text
    assert shown(text) == ["OPEN-2"]
    assert "1 of 2" in text
    assert "1 older in the list" in text
    assert f"/projects/OPEN/tickets?state_id={states['Done']}" in text
    assert shown(ada.get("/projects/OPEN/board?done=all").text) == ["OPEN-2", "OPEN-1"]


@pytest.fixture
def few_counted(monkeypatch):
    """As if a column's tickets were counted up to two."""
    board._totals.cache_clear()
    monkeypatch.setattr(board, "COUNTED", 2)
    yield
    board._totals.cache_clear()


def test_a_column_of_very_many_is_counted_up_to_a_point(ada, make, few_counted):
    for said in ("1", "2", "2+", "4 of 2+"):
        make("One more")
        for path in ("/projects/OPEN/board", "/board"):
            assert f">{said}</span>" in ada.get(path).text, (path, said)


@pytest.fixture
def age(app):
    """Let a ticket have changed so many days ago."""

    def aged(ticket_id, days):
        moment = now_ms() - days * DAY_MS
        with app.app_context():
            run_write(
                lambda: session.execute(
                    update(Ticket).where(Ticket.id == ticket_id).values(updated_at=moment)
                )
            )

    return aged


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ready=true", {"OPEN-1", "OPEN-4"}),
        ("blocked=true", {"OPEN-2"}),
        ("assignee_user_id=me", {"OPEN-3"}),
        ("assignee_user_id=none&priority=high", {"OPEN-4"}),
        ("q=fourth", {"OPEN-4"}),
        ("q=open-2", {"OPEN-2"}),
        ("q=nothing+like+it", set()),
        ("quiet=true", set()),
        ("ready=maybe&priority=nonsense", {"OPEN-1", "OPEN-2", "OPEN-3", "OPEN-4"}),
    ],
)
def test_filters_narrow_the_board(ada, cast, make, query, found):
    first, second = make("The first"), make("The second")
    make("The third", assignee_user_id=cast.ada.user_id)
    make("The fourth", priority="high")
    cast.ada.post(
        f"/tickets/{first['id']}/relations", {"type": "blocks", "target_ticket_id": second["id"]}
    )
    answer = ada.get(f"/projects/OPEN/board?{query}")
    assert set(shown(answer.text)) == found


def test_a_quiet_bot_is_found(ada, cast, make, states, age, monkeypatch):
    make("Quiet", assignee_user_id=cast.smith.user_id, state_id=states["In progress"])
    busy = make("Busy", assignee_user_id=cast.smith.user_id, state_id=states["In progress"])
    # Given a moment ago, nobody is quiet yet.
    assert shown(ada.get("/projects/OPEN/board?quiet=true").text) == []
    monkeypatch.setattr(quiet, "QUIET_MS", 500)
    time.sleep(0.6)
    cast.smith.post(f"/tickets/{busy['id']}/comments", {"body": "Working."})
    assert shown(ada.get("/projects/OPEN/board?quiet=true").text) == ["OPEN-1"]


def test_chips_take_themselves_away(ada):
    text = ada.get("/projects/OPEN/board?priority=high&priority=low&group=assignee").text
    chips = re.findall(r'class="filter-chip" href="([^"]+)"', text)
    assert chips == [
        "/projects/OPEN/board?priority=low&amp;group=assignee",
        "/projects/OPEN/board?priority=high&amp;group=assignee",
    ]


def test_lanes(ada, cast, make, label, states):
    bug, wish = label("bug"), label("wish")
    epic = make("The epic", type="epic")
    story = make("A story", parent_ticket_id=epic["id"], label_ids=[wish, bug])
    make("A part", type="subtask", parent_ticket_id=story["id"], priority="low")
    make("Alone", assignee_user_id=cast.ada.user_id)
    lanes = {
        grouping: {
            reference: lane_of(ada.get(f"/projects/OPEN/board?group={grouping}").text, reference)
            for reference in ("OPEN-2", "OPEN-3", "OPEN-4")
        }
        for grouping in ("assignee", "epic", "priority", "label")
    }
    assert lanes["assignee"] == {"OPEN-2": "none", "OPEN-3": "none", "OPEN-4": cast.ada.user_id}
    assert lanes["epic"] == {"OPEN-2": epic["id"], "OPEN-3": epic["id"], "OPEN-4": "none"}
    assert lanes["priority"] == {"OPEN-2": "medium", "OPEN-3": "low", "OPEN-4": "medium"}
    assert lanes["label"] == {"OPEN-2": bug, "OPEN-3": "none", "OPEN-4": "none"}
    text = ada.get("/projects/OPEN/board?group=priority").text
    assert re.findall(r'id="lane-(\w+)"', text) == ["urgent", "high", "medium", "low"]


def test_the_board_of_all_has_a_column_a_category(ada, cast, make, states):
    make("Here", state_id=states["In review"])
    cast.ada.post(f"/projects/{cast.fenced_project}/tickets", {"title": "There"})
    text = ada.get("/board").text
    assert set(shown(text)) == {"OPEN-1", "FENCED-1"}
    assert re.findall(r'id="head-(\w+)"', text) == ["backlog", "active", "done"]
    narrowed = ada.get(f"/board?project_id={cast.open_project}").text
    assert shown(narrowed) == ["OPEN-1"]
    # What makes no sense there is left out.
    assert ada.get("/board?group=label&label_id=x&state_id=y").status_code == 200
    cast.ada.delete(f"/projects/{cast.fenced_project}")
    assert shown(ada.get("/board").text) == ["OPEN-1"]


# What is new.


def test_nothing_new_is_204_in_two_statements(ada, make):
    make("Still")
    token = opened(ada)
    with ada.statements() as seen:
        answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert answer.status_code == 204
    assert len(reads(seen)) == 2, seen
    token = opened(ada, "/board")
    with ada.statements() as seen:
        assert ada.get(f"/board/live?since={token}", htmx=True).status_code == 204
    assert len(reads(seen)) == 2, seen


def test_a_bots_move_is_news(ada, cast, make, states):
    made = make("Moved")
    token = opened(ada)
    cast.smith.post(f"/tickets/{made['id']}/transition", {"state_id": states["In review"]})
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert shown(answer.text) == ["OPEN-1"]
    assert f'data-state="{states["In review"]}"' in answer.text
    assert f'data-head="{states["In review"]}" data-total="1"' in answer.text
    after = token_in(answer.text)
    assert ada.get(f"/projects/OPEN/board/live?since={after}", htmx=True).status_code == 204


def test_what_no_longer_fits_is_gone(ada, cast, make):
    made = make("Fits", priority="high")
    token = opened(ada, "/projects/OPEN/board?priority=high")
    cast.ada.patch(f"/tickets/{made['id']}", {"priority": "low"})
    address = f"/projects/OPEN/board/live?priority=high&since={token}"
    answer = ada.get(address, htmx=True)
    assert f'data-gone="{made["id"]}"' in answer.text
    assert shown(answer.text) == []


def test_a_deleted_ticket_is_gone(ada, cast, make):
    made = make("Doomed")
    token = opened(ada)
    cast.ada.delete(f"/tickets/{made['id']}")
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert f'data-gone="{made["id"]}"' in answer.text


def test_cards_that_speak_of_the_changed_one_are_news_too(ada, cast, make, states):
    epic = make("The epic", type="epic")
    story = make("A story", parent_ticket_id=epic["id"])
    part = make("A part", type="subtask", parent_ticket_id=story["id"])
    blocked = make("Blocked by the part")
    cast.ada.post(
        f"/tickets/{part['id']}/relations", {"type": "blocks", "target_ticket_id": blocked["id"]}
    )
    token = opened(ada)
    cast.ada.post(f"/tickets/{part['id']}/transition", {"state_id": states["Done"]})
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert set(shown(answer.text)) == {"OPEN-2", "OPEN-3", "OPEN-4"}
    token = token_in(answer.text)
    cast.ada.patch(f"/tickets/{epic['id']}", {"title": "Renamed"})
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert set(shown(answer.text)) == {"OPEN-2"}
    assert "Renamed" in answer.text


def test_an_event_that_commits_late_is_not_lost(ada, cast, make, app):
    """On PostgreSQL an earlier event may appear after a later one was seen."""
    first, second = make("First"), make("Second")
    token = opened(ada)
    cast.ada.patch(f"/tickets/{second['id']}", {"priority": "high"})
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    token = token_in(answer.text)
    late = {
        "id": "01900000-0000-7000-8000-0000000abcde",
        "workspace_id": "00000000-0000-7000-8000-000000000001",
        "category": "activity",
        "event_type": "ticket.updated",
        "actor_kind": "human",
        "target_kind": "ticket",
        "project_id": cast.open_project,
        "ticket_id": first["id"],
        "payload": {"changes": {}},
        "created_at": now_ms() - OVERLAP_MS // 2,
    }
    with app.app_context():
        run_write(lambda: session.execute(insert(AuditEvent).values(late)))
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert shown(answer.text) == ["OPEN-1"]


def test_many_changes_and_new_columns_are_a_pill(ada, cast, make):
    token = opened(ada)
    for number in range(31):
        make(f"No. {number}")
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert 'data-pill="31"' in answer.text
    assert shown(answer.text) == []
    token = token_in(answer.text)
    cast.ada.post(
        f"/projects/{cast.open_project}/workflow-states", {"name": "Shipped", "category": "done"}
    )
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert 'data-pill=""' in answer.text


def test_a_burst_of_events_is_news_once(ada, make, states):
    made = [make(f"No. {number}")["id"] for number in range(210)]
    token = opened(ada)
    given = {"project": "OPEN", "back": "/", "action": "change", "id": made}
    ada.post("/tickets/bulk", htmx=True, place=states["To do"], **given)
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert 'data-pill="200+"' in answer.text
    token = token_in(answer.text)
    assert ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True).status_code == 204
    make("After it")
    answer = ada.get(f"/projects/OPEN/board/live?since={token}", htmx=True)
    assert shown(answer.text) == ["OPEN-211"]


def test_an_undo_asks_where_someone_moved_the_card_since(ada, cast, make, states):
    make("Moved")
    sent = {"from_state_id": states["Backlog"], "state_id": states["To do"]}
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, **sent)
    undo = dict(re.findall(r'name="(\w+)" value="([^"]*)"', answer.text))
    assert undo["state_id"] == states["Backlog"]
    cast.smith.post("/tickets/OPEN-1/transition", {"state_id": states["In review"]})
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, **undo)
    assert answer.status_code == 409
    assert "Move anyway" in answer.text
    assert "Smith moved OPEN-1 to In review meanwhile" in answer.text


@pytest.mark.parametrize("since", ["", "nonsense", "99999999999999999999.", "0.zz", "1.abc", "%00"])
def test_a_token_that_is_none_is_no_fault(ada, make, since):
    make("There")
    answer = ada.get(f"/projects/OPEN/board/live?since={since}", htmx=True)
    assert answer.status_code in (200, 204, 400, 422)


def test_what_is_new_in_nothing(ada, cast):
    assert ada.get("/projects/NOPE/board/live?since=0.", htmx=True).status_code == 404
    cast.ada.delete(f"/projects/{cast.open_project}")
    assert ada.get("/projects/OPEN/board/live?since=0.", htmx=True).status_code == 410


# Moves.


def test_carrying_a_card_into_a_lane_changes_the_field(ada, cast, make, label, states):
    bug, wish = label("bug"), label("wish")
    epic = make("The epic", type="epic")
    make("Carried", label_ids=[bug])
    given = {"from_state_id": states["Backlog"], "state_id": states["To do"]}

    def carry(grouping, before, after):
        sent = {"group": grouping, "from_lane": before, "lane": after, **given}
        answer = ada.post("/tickets/OPEN-2/move", htmx=True, **sent)
        assert answer.status_code == 200, answer.text
        given["from_state_id"] = states["To do"]
        assert "data-undo" in answer.text
        assert lane_of(answer.text, "OPEN-2") == after
        return cast.ada.get("/tickets/OPEN-2").json

    moved = carry("assignee", "none", cast.ada.user_id)
    assert (moved["state"]["name"], moved["assignee"]["username"]) == ("To do", "ada")
    assert carry("priority", "medium", "urgent")["priority"] == "urgent"
    assert carry("epic", "none", epic["id"])["parent"]["display_id"] == "OPEN-1"
    assert [one["name"] for one in carry("label", bug, wish)["labels"]] == ["wish"]
    assert carry("label", wish, "none")["labels"] == []
    assert carry("epic", epic["id"], "none")["parent"] is None
    assert carry("assignee", cast.ada.user_id, "none")["assignee"] is None


def test_a_subtask_stays_with_its_story(ada, make, states):
    epic = make("The epic", type="epic")
    story = make("A story")
    make("A part", type="subtask", parent_ticket_id=story["id"])
    answer = ada.post(
        "/tickets/OPEN-3/move",
        htmx=True,
        state_id=states["Backlog"],
        from_state_id=states["Backlog"],
        group="epic",
        from_lane="none",
        lane=epic["id"],
    )
    assert answer.status_code == 422
    assert "carry the story" in answer.text


def test_a_card_that_changed_lanes_meanwhile_is_left_alone(ada, cast, make, states):
    made = make("Contested")
    cast.smith.patch(f"/tickets/{made['id']}", {"priority": "low"})
    sent = {"state_id": states["Backlog"], "from_state_id": states["Backlog"], "group": "priority"}
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, lane="high", from_lane="medium", **sent)
    assert answer.status_code == 409
    assert "Smith changed OPEN-1 meanwhile, <time" in answer.text
    assert lane_of(answer.text, "OPEN-1") == "low"
    # A change that the board does not go by refuses nothing.
    cast.smith.patch(f"/tickets/{made['id']}", {"due_date": "2030-01-01"})
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, lane="high", from_lane="low", **sent)
    assert answer.status_code == 200


def test_moving_on_the_board_of_all_goes_to_the_first_state(ada, cast, make):
    make("Moved")
    sent = {"everywhere": "yes", "from_state_id": "backlog"}
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id="active", **sent)
    assert answer.status_code == 200
    assert 'data-state="active"' in answer.text
    assert cast.ada.get("/tickets/OPEN-1").json["state"]["name"] == "To do"
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, state_id="done", **sent)
    assert answer.status_code == 409


@pytest.mark.parametrize(
    "sent", [{}, {"state_id": "x"}, {"state_id": "done", "group": "priority", "lane": "mauve"}]
)
def test_moves_nowhere_are_refused(ada, make, sent):
    make("Still")
    assert ada.post("/tickets/OPEN-1/move", htmx=True, **sent).status_code == 422


# Choices for a card.


def test_picking(ada, cast, make, label):
    bug = label("bug")
    make("Picked")
    for name, value, words in (
        ("assignee", "me", "assigned to Ada"),
        ("priority", "urgent", "urgent priority"),
        ("labels", bug, "labels bug"),
        ("labels", "", "no labels"),
        ("assignee", "", "assigned to nobody"),
    ):
        assert ada.get(f"/tickets/OPEN-1/pick/{name}").status_code == 200
        answer = ada.post(f"/tickets/OPEN-1/pick/{name}", htmx=True, value=value)
        assert answer.status_code == 200, answer.text
        assert words in answer.text
        assert shown(answer.text) == ["OPEN-1"]
    plain = ada.post("/tickets/OPEN-1/pick/priority", value="low", back="/projects/OPEN/board")
    assert plain.location == "/projects/OPEN/board"
    assert ada.get("/tickets/OPEN-1/pick/title").status_code == 404


def test_a_choice_made_from_an_old_sheet_is_refused(ada, cast, make):
    made = make("Picked")
    cast.smith.patch(f"/tickets/{made['id']}", {"priority": "low"})
    answer = ada.post("/tickets/OPEN-1/pick/priority", htmx=True, value="high", seen="medium")
    assert answer.status_code == 409
    assert cast.ada.get("/tickets/OPEN-1").json["priority"] == "low"
    assert ada.post("/tickets/OPEN-1/pick/priority", value="high", seen="medium").status_code == 422
    refused = ada.post("/tickets/OPEN-1/pick/priority", htmx=True, value="mauve")
    assert refused.status_code == 422


# Quick add.


def test_a_line_becomes_a_ticket(ada, cast, make, label, states):
    label("needs review")
    label("bug")
    make("A story")
    line = 'Fix #123 !high @Ada #bug #needs-review ^open-1 due:2030-12-01 !urgent @who "as is"'
    given = {"project": "OPEN", "state_id": states["To do"], "title": line}
    shown_as = ada.get("/tickets/quick", htmx=True)
    assert shown_as.status_code == 404
    answer = ada.post("/tickets/quick", htmx=True, idempotency_key="a", **given)
    assert answer.status_code == 201, answer.text
    again = ada.post("/tickets/quick", htmx=True, idempotency_key="a", **given)
    assert shown(again.text) == shown(answer.text) == ["OPEN-2"]
    made = cast.ada.get("/tickets/OPEN-2").json
    assert made["title"] == 'Fix #123 @who "as is"'
    assert made["priority"] == "urgent"
    assert made["assignee"]["username"] == "ada"
    assert made["due_date"] == "2030-12-01"
    assert [one["name"] for one in made["labels"]] == ["bug", "needs review"]
    assert (made["type"], made["parent"]["display_id"]) == ("subtask", "OPEN-1")
    assert made["state"]["name"] == "To do"


def test_what_is_understood_is_shown_before(ada, label):
    label("bug")
    address = "/tickets/quick?project=OPEN&title=Mend+it+%23bug+!low+%23nothing+due:2030-13-01"
    text = re.sub(r"<[^>]+>", "|", ada.get(address, htmx=True).text)
    assert "bug" in text
    assert "Low" in text
    assert "nothing" not in text
    assert "2030" not in text


def test_a_line_without_a_title_says_so(ada, states):
    given = {"project": "OPEN", "state_id": states["To do"]}
    for title in ("", "   ", "!high", "x" * 501):
        answer = ada.post("/tickets/quick", htmx=True, title=title, **given)
        assert answer.status_code == 422, title


# Saved views.


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
