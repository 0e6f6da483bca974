"""The list of resources: the latest change first, in pages, with the house rules at the top."""

import pytest

from app.mcp import methods
from tests.support.cases import cases
from tests.support.story import make_ticket, ok

CURSOR_OF_TICKETS = "list_tickets"


def pages(agent):
    """The URIs of each page of the list."""
    found, params = [], {}
    while True:
        answer = agent.result("resources/list", params)
        found.append([row["uri"] for row in answer["resources"]])
        if "nextCursor" not in answer:
            return found
        params = {"cursor": answer["nextCursor"]}


@pytest.fixture(name="made")
def _made(cast, ada):
    """Create tickets and pages, among them the house rules; return the URIs, oldest first."""
    made = []
    for number in range(3):
        made.append(f"ticket://{make_ticket(ada, cast.open_project)['display_id']}")
        page = {"title": f"Page {number}", "project_id": cast.open_project}
        made.append(f"wiki://page/{ok(ada.post('/wiki/pages', page), 201)['slug']}")
        if number == 0:
            rules = {"title": "Rules", "slug": "agents", "project_id": cast.open_project}
            ok(ada.post("/wiki/pages", rules), 201)
    return made


@cases("modern", [False, True])
@cases("size", [1, 2, 7, 50])
def test_a_walk_meets_each_resource_once(smith, made, monkeypatch, size, modern):
    monkeypatch.setattr(methods, "RESOURCES_SHOWN", size)
    smith.modern = modern
    found = pages(smith)
    assert [uri for page in found for uri in page] == ["wiki://page/agents", *reversed(made)]
    assert [len(page) for page in found[:-1]] == [size] * (len(found) - 1)


def test_50_come_at_a_time(smith, cast, ada):
    for _ in range(51):
        make_ticket(ada, cast.open_project)
    assert [len(page) for page in pages(smith)] == [50, 1]


def test_there_is_an_end(smith, made, monkeypatch):
    monkeypatch.setattr(methods, "MAX_LISTED_RESOURCES", 4)
    monkeypatch.setattr(methods, "RESOURCES_SHOWN", 3)
    newest = made[::-1]
    assert pages(smith) == [["wiki://page/agents", *newest[:2]], newest[2:3]]


def test_what_stays_as_it_is_is_listed_once_while_others_change(
    smith, cast, ada, made, monkeypatch
):
    monkeypatch.setattr(methods, "RESOURCES_SHOWN", 3)
    first = smith.result("resources/list")
    make_ticket(ada, cast.open_project)
    ok(ada.patch("/tickets/OPEN-1", {"title": "Changed"}))
    second = smith.result("resources/list", {"cursor": first["nextCursor"]})
    shown = [row["uri"] for answer in (first, second) for row in answer["resources"]]
    assert shown == ["wiki://page/agents", *reversed(made[1:])]


def test_a_bot_walks_through_its_projects_alone(fenced, cast, ada, made, monkeypatch):
    monkeypatch.setattr(methods, "RESOURCES_SHOWN", 1)
    for _ in range(2):
        make_ticket(ada, cast.fenced_project)
    assert pages(fenced) == [["ticket://FENCED-2"], ["ticket://FENCED-1"]]


@cases("modern, status", [(False, 200), (True, 400)])
@cases("cursor", ["abc", "", 5, ["x"], {}, CURSOR_OF_TICKETS])
def test_a_wrong_cursor_is_an_error_of_the_protocol(smith, made, cursor, modern, status):
    if cursor == CURSOR_OF_TICKETS:
        cursor = smith.call("list_tickets", limit=1)["page"]["next_cursor"]
    smith.modern = modern
    response = smith.send("resources/list", {"cursor": cursor})
    assert response.status_code == status
    error = response.get_json()["error"]
    assert error["code"] == -32602
    assert error["data"] == {"code": "validation.invalid_field", "details": {"field": "cursor"}}
