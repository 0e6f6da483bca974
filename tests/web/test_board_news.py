"""News of a board: requested with a token, answered with what changed."""

import re
from functools import partial

from sqlalchemy import insert

from app.audit.models import AuditEvent
from app.core.actor import Actor, ActorKind
from app.core.clock import now_ms
from app.database.session import run_write, session
from app.tickets.changes import OVERLAP_MS
from app.tickets.creating import create_ticket
from tests.support.cases import cases
from tests.support.cast import in_app
from tests.web.cards_on_page import opened, reads, shown, token_in


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
    """On PostgreSQL an earlier event may become visible after a later one was seen."""
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


def test_a_board_shows_what_came_before_it(ada, cast, make):
    for number in range(31):
        make(f"No. {number}", priority="high")
    cast.ada.post(
        f"/projects/{cast.open_project}/workflow-states", {"name": "Shipped", "category": "done"}
    )
    for filters in ("", "priority=high&"):
        token = opened(ada, f"/projects/OPEN/board?{filters}")
        answer = ada.get(f"/projects/OPEN/board/live?{filters}since={token}", htmx=True)
        assert answer.status_code == 204, filters


def test_a_burst_of_events_is_news_once(app, ada, cast, make, states):
    actor = Actor(ActorKind.HUMAN, cast.ada.user_id, "ada", "Ada")
    create = partial(create_ticket, actor, cast.open_project)
    made = in_app(app, lambda: [create(title=f"No. {number}").id for number in range(210)])
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
    assert "Smith has moved OPEN-1 to In review" in answer.text


@cases("since", ["", "nonsense", "99999999999999999999.", "0.zz", "1.abc", "%00"])
def test_a_token_that_is_none_is_no_fault(ada, make, since):
    make("There")
    answer = ada.get(f"/projects/OPEN/board/live?since={since}", htmx=True)
    assert answer.status_code in (200, 204, 400, 422)


def test_what_is_new_in_nothing(ada, cast):
    assert ada.get("/projects/NOPE/board/live?since=0.", htmx=True).status_code == 404
    cast.ada.delete(f"/projects/{cast.open_project}")
    assert ada.get("/projects/OPEN/board/live?since=0.", htmx=True).status_code == 410
