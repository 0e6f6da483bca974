"""A change by a bot has a receipt: what the bot had read of the things that it changed."""

import pytest

from app.audit import receipts
from app.tickets import runaways, sign_off
from tests.activity.changes import change, comment
from tests.support.statements import statements
from tests.support.story import events, make_ticket, ok, state_ids


def rules(cast, body, **fields):
    fields = {"slug": "agents", "title": "House rules", "body": body, **fields}
    return ok(cast.ada.post("/wiki/pages", fields), 201)


def test_a_ticket_that_was_not_read(cast, smith, ticket, receipt):
    first = comment(cast.ada, "one")
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    found = receipt()
    assert found["ticket"] == {
        "status": "not_read",
        "version": ticket["updated_at"],
        "read_version": None,
    }
    assert found["comments"] == {
        "status": "not_read",
        "count": 1,
        "read_count": 0,
        "unread": [{"id": first["id"], "created_at": first["created_at"]}],
    }
    assert (found["page"], found["house_rules"]) == (None, None)


@pytest.mark.parametrize("over", ["rest", "mcp"])
def test_what_was_read_and_what_came_after(cast, smith, ticket, receipt, over):
    comment(cast.ada, "one")
    if over == "rest":
        ok(cast.smith.get("/tickets/OPEN-1"))
        ok(cast.smith.get("/tickets/OPEN-1/comments"))
        change(cast.smith, "low")
    else:
        smith.lean("get_ticket", ticket="OPEN-1")
        smith.lean("list_comments", ticket="OPEN-1")
        smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    found = receipt()
    assert found["ticket"]["status"] == "read"
    assert found["ticket"]["read_version"] == found["ticket"]["version"] == ticket["updated_at"]
    assert found["comments"] == {"status": "read", "count": 1, "read_count": 1, "unread": []}
    # A bot knows its own change, but not those of others.
    if over == "rest":
        change(cast.smith, "high")
    else:
        smith.lean("update_ticket", ticket="OPEN-1", priority="high")
    known = receipt()["ticket"]
    assert known["status"] == "read"
    now = change(cast.ada, "urgent")
    second = comment(cast.bo, "two")
    comment(cast.smith, "mine")
    smith.lean("update_ticket", ticket="OPEN-1", priority="medium")
    found = receipt()
    assert found["ticket"]["status"] == "outdated"
    assert found["ticket"]["version"] == now["updated_at"]
    assert known["version"] < found["ticket"]["read_version"] < now["updated_at"]
    assert found["comments"] == {
        "status": "partly_read",
        "count": 3,
        "read_count": 2,
        "unread": [{"id": second["id"], "created_at": second["created_at"]}],
    }


def test_a_lean_answer_of_a_change_is_no_reading(cast, smith, ticket, receipt):
    for priority in ("low", "high"):
        smith.lean("update_ticket", ticket="OPEN-1", priority=priority)
        assert receipt()["ticket"]["status"] == "not_read"
    smith.call("update_ticket", ticket="OPEN-1", priority="low")
    assert receipt()["ticket"]["status"] == "not_read"
    smith.lean("update_ticket", ticket="OPEN-1", priority="high")
    assert receipt()["ticket"]["status"] == "read"


READS = {
    "get_ticket": ({"ticket": "OPEN-1"}, (True, 0)),
    "list_comments": ({"ticket": "OPEN-1"}, (False, 2)),
    "list_comments, a page": ({"ticket": "OPEN-1", "limit": 1}, (False, 1)),
    "list_comments, no texts": ({"ticket": "OPEN-1", "include_body": False}, (False, 0)),
    "list_tickets": ({}, (False, 0)),
    "list_tickets, with texts": ({"include_body": True}, (True, 0)),
    "get_ticket, with history": ({"ticket": "OPEN-1", "history": True}, (True, 2)),
    # The second comment is longer than an excerpt.
    "get_self": ({}, (False, 1)),
    "search": ({"q": "first"}, (False, 0)),
}


@pytest.mark.parametrize("name", READS)
def test_what_a_tool_shows_whole_is_read(cast, smith, ticket, receipt, name):
    arguments, expected = READS[name]
    ok(cast.ada.post("/tickets/OPEN-1/watchers", {"user_id": cast.smith.user_id}), 201)
    comment(cast.ada, "first")
    comment(cast.ada, "second " * 60)
    smith.lean(name.partition(",")[0], **arguments)
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    found = receipt()
    assert (found["ticket"]["status"] == "read", found["comments"]["read_count"]) == expected


def test_a_resource_and_the_ticket_next(cast, smith, ticket, receipt):
    comment(cast.ada, "one")
    smith.result("resources/read", {"uri": "ticket://OPEN-1"})
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    assert {receipt()[part]["status"] for part in ("ticket", "comments")} == {"read"}
    make_ticket(cast.ada, cast.open_project)
    for number in range(7):
        comment(cast.ada, str(number), "OPEN-2")
    smith.lean("update_ticket", ticket="next", label=None)
    smith.lean("update_ticket", ticket="next")
    smith.lean("transition_ticket", ticket="OPEN-2", state="In progress")
    found = receipt("ticket.state_changed")
    assert found["ticket"]["status"] == "read"
    assert (found["comments"]["count"], found["comments"]["read_count"]) == (7, 5)


def test_a_call_that_fails_showed_nothing(cast, smith, ticket, receipt):
    smith.refused("get_ticket", ticket="OPEN-1", history=True, cursor="wrong")
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    assert receipt()["ticket"]["status"] == "not_read"


PATHS = {
    "/tickets": (True, 0),
    "/projects/{project}/tickets": (True, 0),
    "/tickets/OPEN-1": (True, 0),
    "/tickets/OPEN-1/comments?limit=1": (False, 1),
    "/tickets/OPEN-1/comments": (False, 2),
    "/tickets/OPEN-1/activity": (False, 2),
    "/projects/{project}/activity": (False, 2),
    "/tickets/OPEN-1/watchers": (False, 0),
    "/search?q=ticket": (False, 0),
}


@pytest.mark.parametrize("path", PATHS)
def test_what_rest_answers_whole_is_read(cast, ticket, receipt, path):
    comment(cast.ada, "one")
    comment(cast.ada, "two")
    ok(cast.smith.get(path.format(project=cast.open_project)))
    ok(cast.smith.post("/tickets/OPEN-1/watchers", {}), 201)
    found = receipt("ticket.watcher_added")
    assert (found["ticket"]["status"] == "read", found["comments"]["read_count"]) == PATHS[path]


def test_a_head_and_a_refusal_are_no_reading_and_not_modified_is(cast, ticket, receipt):
    assert cast.smith.call("HEAD", "/tickets/OPEN-1").status_code == 200
    assert cast.smith.get("/tickets/OPEN-1/comments?cursor=wrong").status_code == 400
    comment(cast.smith, "mine")
    assert receipt("comment.created")["ticket"]["status"] == "not_read"
    make_ticket(cast.ada, cast.open_project)
    tag = {"If-None-Match": cast.ada.get("/tickets/OPEN-2").headers["ETag"]}
    assert cast.smith.get("/tickets/OPEN-2", headers=tag).status_code == 304
    comment(cast.smith, "mine", "OPEN-2")
    assert receipt("comment.created")["ticket"]["status"] == "read"


def test_who_creates_a_ticket_knows_it(cast, smith, receipt, app):
    smith.lean(
        "create_ticket", project="OPEN", title="Mine", children=[{"title": "Child"}], type="epic"
    )
    assert [event.receipt for event in events(app, event_type="ticket.created")] == [None, None]
    made = make_ticket(cast.smith, cast.open_project)
    for ticket in ("OPEN-1", "OPEN-2", made["display_id"]):
        smith.lean("update_ticket", ticket=ticket, priority="low")
        found = receipt()
        assert (found["ticket"]["status"], found["comments"]["count"]) == ("read", 0), ticket


def test_one_request_has_one_receipt(cast, smith, ticket, receipt, app):
    smith.lean("get_ticket", ticket="OPEN-1")
    smith.lean("transition_ticket", ticket="OPEN-1", state="To do", comment="Done", assignee="me")
    kinds = ("ticket.state_changed", "comment.created", "ticket.assigned")
    found = [receipt(kind) for kind in kinds]
    assert found[0] == found[1] == found[2]
    assert found[0]["comments"]["count"] == 0
    # The tool call itself is no change.
    assert receipt("bot.tool_invoked") is None


def test_receipts_and_sign_off_cost_no_statement(app, cast, smith, ticket, monkeypatch):
    monkeypatch.setattr(runaways, "count_creation", lambda *_: None)
    project, states = cast.open_project, state_ids(cast.ada, cast.open_project)
    move = "/tickets/OPEN-1/transition"
    works = {
        "update": lambda new: change(cast.smith, new),
        "comment": lambda new: comment(cast.smith, new),
        "move": lambda new: ok(
            cast.smith.post(move, {"state_id": states[4 if new == "low" else 1]})
        ),
        "create": lambda new: make_ticket(cast.smith, project, title=new, state_id=states[4]),
        "tool": lambda new: smith.lean("update_ticket", ticket="OPEN-1", priority=new),
        "create by tool": lambda new: smith.lean("create_ticket", project="OPEN", title=new),
    }

    def counts():
        found = {}
        for name, work in works.items():
            work("high")
            with statements(app) as seen:
                work("low")
            found[name] = len(seen)
        return found

    counted = counts()
    monkeypatch.setattr(receipts, "_begun", lambda *_: None)
    monkeypatch.setattr(sign_off, "check_done", lambda *_: None)
    assert counted == counts()


def test_people_have_no_receipts(cast, ticket, receipt):
    change(cast.ada, "low")
    assert receipt() is None


def test_house_rules_of_the_project_or_of_all(cast, smith, ticket, receipt):
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    assert receipt()["house_rules"] is None
    shared = rules(cast, "Be kind.")
    smith.lean("update_ticket", ticket="OPEN-1", priority="high")
    expected = {
        "page_id": shared["id"],
        "status": "not_read",
        "revision_number": 1,
        "read_revision_number": None,
    }
    assert receipt()["house_rules"] == expected
    smith.result("resources/read", {"uri": "wiki://page/agents"})
    smith.lean("create_ticket", project="OPEN", title="New")
    expected |= {"status": "read", "read_revision_number": 1}
    assert receipt("ticket.created")["house_rules"] == expected
    ok(cast.ada.patch(f"/wiki/pages/{shared['id']}", {"body": "Be kinder."}))
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    assert receipt()["house_rules"] == expected | {"status": "outdated", "revision_number": 2}
    own = rules(cast, "Be brief.", project_id=cast.open_project)
    ok(cast.smith.get(f"/wiki/pages/{own['id']}"))
    smith.lean("create_sticky_note", project="OPEN", body="Note")
    found = receipt("sticky_note.created")["house_rules"]
    assert (found["page_id"], found["status"]) == (own["id"], "read")


def test_a_page_that_is_changed(cast, smith, receipt):
    page = {"title": "Plan", "body": "One", "project_id": cast.open_project}
    page = ok(cast.ada.post("/wiki/pages", page), 201)
    smith.lean("update_wiki_page", page="plan", append="Two")
    found = receipt("wiki.updated")
    assert found["page"] == {
        "page_id": page["id"],
        "status": "not_read",
        "revision_number": 1,
        "read_revision_number": None,
    }
    assert (found["ticket"], found["comments"]) == (None, None)
    smith.lean("get_wiki_page", page="plan")
    for number in (2, 3):
        smith.lean("update_wiki_page", page="plan", append="Three")
        found = receipt("wiki.updated")["page"]
        assert (found["status"], found["read_revision_number"]) == ("read", number)
    ok(cast.ada.patch(f"/wiki/pages/{page['id']}", {"body": "Four"}))
    ok(cast.smith.patch(f"/wiki/pages/{page['id']}", {"body": "Five"}))
    found = receipt("wiki.updated")["page"]
    assert (found["status"], found["read_revision_number"]) == ("outdated", 4)
    smith.lean("delete_wiki_page", page="plan")
    assert receipt("wiki.deleted")["page"]["status"] == "read"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(50, 50)], "not_read"),
        ([(0, 30)], "not_read"),
        ([(0, 30), (60, 40)], "not_read"),
        ([(0, 30), (60, 40), (30, 30), (60, 40)], "read"),
        ([(0, 60), (40, 60)], "read"),
        ([(0, 100)], "read"),
    ],
)
def test_a_long_page_is_read_once_its_parts_are(cast, smith, receipt, parts, expected):
    page = {"title": "Plan", "body": "x" * 100, "project_id": cast.open_project}
    ok(cast.ada.post("/wiki/pages", page), 201)
    for offset, length in parts:
        smith.lean("get_wiki_page", page="plan", body_offset=offset, body_limit=length)
    smith.lean("update_wiki_page", page="plan", append="y")
    assert receipt("wiki.updated")["page"]["status"] == expected
