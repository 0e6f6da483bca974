"""Lean answers: names for ids, no empty fields, and no more than a model needs to read."""

import json
import re

import orjson
import pytest

from app.core.clock import now_ms
from app.database.session import run_write
from app.tickets import discussion, stalled_bots
from tests.support.statements import statements
from tests.support.story import make_ticket, ok

BODY = "The gate hangs in the wind. Its upper hinge is loose, so it scrapes over the stones. " * 14
# Bytes per token of o200k, measured once on these answers and rounded down.
BYTES_PER_TOKEN = {"list": 3.2, "project": 2.7, "write": 2.4, "session": 3.2}
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def tokens(answer, kind):
    return len(orjson.dumps(answer)) / BYTES_PER_TOKEN[kind]


@pytest.fixture(name="ticket")
def _ticket(ada, cast):
    label = ok(ada.post(f"/projects/{cast.open_project}/labels", {"name": "gates"}), 201)
    fields = {"title": "Mend the gate", "body": BODY, "label_ids": [label["id"]]}
    return make_ticket(ada, cast.open_project, due_date="2026-12-24", **fields)


def test_names_stand_for_ids(smith, ticket):
    smith.lean("update_ticket", ticket="OPEN-1", assignee="me")
    shown = smith.lean("get_ticket", ticket="OPEN-1")
    wanted = {"display_id", "project", "type", "title", "body", "state", "priority", "assignee"}
    wanted |= {"reporter", "labels", "due_date", "created_at", "updated_at", "last_activity_at"}
    assert set(shown) == wanted | {"etag"}
    assert (shown["state"], shown["assignee"], shown["reporter"]) == ("Backlog", "smith", "ada")
    assert (shown["project"], shown["labels"]) == ("OPEN", ["gates"])
    assert shown["body"] == BODY
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", shown["updated_at"])
    assert not ID.search(json.dumps(shown))


def test_full_is_the_json_of_rest(smith, ada, ticket):
    full = smith.lean("get_ticket", ticket="OPEN-1", detail="full")
    rest = ok(ada.get("/tickets/OPEN-1"))
    assert {name: full[name] for name in rest} == rest


def test_detail_is_lean_or_full(smith, ticket):
    error = smith.refused("get_ticket", ticket="OPEN-1", detail="whole")
    assert error["code"] == "request.validation_error"
    lean = smith.lean("get_ticket", ticket="OPEN-1", detail="lean")
    assert lean == smith.lean("get_ticket", ticket="OPEN-1")


def test_a_row_counts_its_comments(smith, ada, ticket):
    (row,) = smith.lean("list_tickets", project="OPEN")["data"]
    wanted = {"display_id", "type", "title", "state", "priority", "labels", "due_date"}
    assert set(row) == wanted | {"updated_at"}
    gone = ok(ada.post("/tickets/OPEN-1/comments", {"body": "Gone"}), 201)
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "One"}), 201)
    ok(ada.delete(f"/comments/{gone['id']}"), 204)
    (row,) = smith.lean("list_tickets", project="OPEN")["data"]
    assert row["comments"] == 1


def short(row):
    """The lean form of a full row, without comments."""
    names = {
        "state": row["state"] and row["state"]["name"],
        "assignee": "assignee" in row and row["assignee"]["username"],
        "parent": "parent" in row and row["parent"]["display_id"],
        "labels": [label["name"] for label in row["labels"]],
        "updated_at": f"{row['updated_at'][:16]}Z",
        "last_activity_at": f"{row['last_activity_at'][:16]}Z",
    }
    kept = {
        name: row.get(name)
        for name in ("display_id", "type", "title", "body", "priority", "due_date")
    }
    if "silent_since" in row:
        names["silent_since"] = f"{row['silent_since'][:16]}Z"
    if names["last_activity_at"] == names["updated_at"]:
        del names["last_activity_at"]
    shown = {**kept, **names}
    return {name: value for name, value in shown.items() if value or name == "body"} | (
        {} if "body" in row else {"body": None}
    )


ARGUMENTS_OF_LISTS = (
    {},
    {"limit": 2},
    {"include_body": True},
    {"include_body": True, "sort": "rank"},
    {"sort": "due", "limit": 1},
    {"ready": True},
    {"labels": ["gates"]},
    {"stalled": True},
    {"stalled": True, "include_body": True, "sort": "updated"},
    {"parent": "OPEN-2"},
    {"state": "Done"},
)


def test_lean_rows_say_what_full_rows_say(smith, ada, cast, app, ticket, monkeypatch):
    monkeypatch.setitem(stalled_bots._limits, "stalled_after_ms", 0)
    make_ticket(ada, cast.open_project, type="epic", body="")
    fields = {"parent_ticket_id": ok(ada.get("/tickets/OPEN-2"))["id"]}
    child = make_ticket(ada, cast.open_project, assignee_user_id=cast.smith.user_id, **fields)
    for text in ("One", "Two"):
        ok(ada.post("/tickets/OPEN-3/comments", {"body": text}), 201)
    with app.app_context():
        run_write(lambda: discussion.discussed(child["id"], now_ms() + 120_000))
    for arguments in ARGUMENTS_OF_LISTS:
        full = smith.call("list_tickets", project="OPEN", **arguments)
        lean = smith.lean("list_tickets", project="OPEN", **arguments)
        counts = {row["display_id"]: row.pop("comments", 0) for row in lean["data"]}
        assert set(counts.items()) <= {("OPEN-1", 0), ("OPEN-2", 0), ("OPEN-3", 2)}, arguments
        for row in lean["data"]:
            row.setdefault("body", None)
        assert lean["data"] == [short(row) for row in full["data"]], arguments
        assert lean["page"].get("next_cursor") == full["page"]["next_cursor"], arguments


def test_a_list_is_one_query(smith, ada, ticket, app):
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "One"}), 201)
    for detail in ("lean", "full"):
        smith.lean("list_tickets", detail=detail)
        with statements(app) as seen:
            smith.lean("list_tickets", detail=detail)
        assert len([one for one in seen if "FROM tickets" in one]) == 1, seen
        assert not [one for one in seen if "FROM projects" in one and "FROM tickets" not in one]


def test_a_comment_is_who_when_and_what(smith, ada, ticket):
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "One"}), 201)
    (row,) = smith.lean("list_comments", ticket="OPEN-1")["data"]
    assert set(row) == {"id", "author", "body", "created_at"}
    assert (row["author"], row["body"]) == ("ada", "One")
    ok(ada.patch(f"/comments/{row['id']}", {"body": "Two"}))
    ok(ada.call("PUT", f"/comments/{row['id']}/reactions/heart"))
    (row,) = smith.lean("list_comments", ticket="OPEN-1", include_body=True)["data"]
    assert set(row) == {"id", "author", "body", "created_at", "updated_at", "reactions"}
    (row,) = smith.lean("list_comments", ticket="OPEN-1", include_body=False)["data"]
    assert "body" not in row


def test_long_comments_come_on_more_pages_and_whole(smith, ada, ticket):
    bodies = ["a" * 20_000, "b" * 12_768, "c", "d" * 65_536, "e"]
    for body in bodies:
        ok(ada.post("/tickets/OPEN-1/comments", {"body": body}), 201)
    pages, cursor = [], None
    while cursor is not None or not pages:
        answer = smith.lean("list_comments", ticket="OPEN-1", cursor=cursor)
        pages.append([row["body"] for row in answer["data"]])
        cursor = answer["page"].get("next_cursor")
    assert pages == [bodies[:2], bodies[2:3], bodies[3:4], bodies[4:]]


def test_a_write_answers_what_it_changed(smith, ticket):
    changed = smith.lean("update_ticket", ticket="OPEN-1", priority="high", append="More.")
    assert set(changed) == {"display_id", "state", "priority", "etag", "event_ids"}
    smith.lean("update_ticket", ticket="OPEN-1", title="Paint it", if_match=changed["etag"])
    labels = smith.lean("update_ticket", ticket="OPEN-1", remove_labels=["gates"], assignee="me")
    assert labels["assignee"] == "smith"
    assert "labels" not in labels
    moved = smith.lean("transition_ticket", ticket="OPEN-1", state="done", comment="Done.")
    assert (moved["state"], moved["assignee"]) == ("Done", "smith")
    assert "title" not in moved


def test_what_was_created_is_named(smith, ticket):
    made = smith.lean("create_ticket", project="OPEN", title="Oil it", parent=None, body="Soon")
    shown = {"display_id", "type", "title", "state", "priority", "etag"}
    assert set(made) == shown
    plan = {"title": "Plan", "type": "epic", "children": [{"title": "First", "body": "Now"}]}
    (child,) = smith.lean("create_ticket", project="OPEN", **plan)["children"]
    assert set(child) == {"display_id", "title", "type", "state"}
    page = smith.lean("create_wiki_page", project="OPEN", title="Gates", body="All of them.")
    assert set(page) == {"slug", "title", "project", "revision_number", "etag"}
    comment = smith.lean("add_comment", ticket="OPEN-1", body="Look.")
    assert set(comment) == {"id"}
    smith.lean("update_comment", comment=comment["id"], body="See.")
    note = smith.lean("create_sticky_note", project="OPEN", body="An idea")
    assert smith.lean("convert_sticky_note", sticky_note=note["id"])["title"] == "An idea"
    relation = smith.lean(
        "add_ticket_relation", ticket="OPEN-1", type="blocks", target=made["display_id"]
    )
    assert relation["ticket"]["display_id"] == made["display_id"]
    removed = smith.lean("remove_ticket_relation", ticket="OPEN-1", relation=relation["id"])
    assert removed == {"deleted": True}
    removed = smith.lean("delete_comment", comment=comment["id"])
    assert set(removed) == {"deleted", "event_ids"}


def test_next_is_answered_whole(smith, ticket):
    claimed = smith.lean("update_ticket", ticket="next")
    assert (claimed["display_id"], claimed["assignee"]) == ("OPEN-1", "smith")
    assert claimed["body"] == BODY
    nothing = smith.lean("update_ticket", ticket="next")
    assert set(nothing) == {"message", "retry_after_seconds"}


def test_an_allowlist_is_shown_by_keys(fenced, smith):
    assert fenced.lean("get_self")["project_allowlist"] == ["FENCED"]
    assert smith.lean("get_self")["project_allowlist"] == []


def test_a_replay_is_shown_as_it_is_asked_for(smith):
    sent = {"project": "OPEN", "title": "Once", "idempotency_key": "k1"}
    lean = smith.lean("create_ticket", **sent)
    full = smith.lean("create_ticket", detail="full", **sent)
    assert full["display_id"] == lean["display_id"]
    assert full["state"]["name"] == lean["state"]
    assert smith.lean("create_ticket", **sent) == lean


def test_a_row_of_search_has_no_scores(smith, ticket):
    (hit,) = smith.lean("search", q="hinge")["data"]
    assert {"score", "highlights", "id", "project_id"}.isdisjoint(hit)
    assert (hit["display_id"], hit["project"], hit["state"]) == ("OPEN-1", "OPEN", "Backlog")


def test_a_list_fits_its_budget(smith, ada, cast):
    for number in range(50):
        title = f"Mend gate {number} of the north field"
        fields = {"assignee_user_id": cast.ada.user_id} if number % 3 else {}
        make_ticket(ada, cast.open_project, title=title, body=BODY, **fields)
    answer = smith.lean("list_tickets", project="OPEN", limit=50)
    assert len(answer["data"]) == 50
    assert tokens(answer, "list") <= 2_800


def test_a_project_with_27_labels_fits_its_budget(smith, ada, cast):
    for number in range(27):
        ok(ada.post(f"/projects/{cast.open_project}/labels", {"name": f"area {number}"}), 201)
    project = smith.lean("get_project", project="OPEN")
    assert len(project["labels"]) == 27
    assert project["workflow_states"]["To do"] == "active"
    assert next(iter(project["workflow_states"])) == "Backlog"
    assert tokens(project, "project") <= 250


def test_a_claim_and_a_move_fit_their_budget(smith, ticket):
    claim = {"ticket": "OPEN-1", "assignee": "me", "expected_assignee": "none"}
    assert tokens(smith.lean("update_ticket", **claim), "write") <= 80
    moved = smith.lean("transition_ticket", ticket="OPEN-1", state="Done", comment="Done.")
    assert tokens(moved, "write") <= 80


def test_a_session_fits_its_budget(smith, ada, cast):
    """Ready, claim, read, comment, start, comment, search, wiki, finish, hand back."""
    for number in range(20):
        title = f"Mend gate {number} of the north field"
        make_ticket(ada, cast.open_project, title=title, body=BODY)
    page = {"title": "Gates", "body": BODY, "project_id": cast.open_project}
    ok(ada.post("/wiki/pages", page), 201)
    one = {"ticket": "OPEN-20"}
    calls = [
        ("list_tickets", {"project": "OPEN", "ready": True, "limit": 10}),
        ("update_ticket", {**one, "assignee": "me", "expected_assignee": "none"}),
        ("get_ticket", one),
        ("add_comment", {**one, "body": "I look at the hinge first."}),
        ("transition_ticket", {**one, "state": "In progress"}),
        ("add_comment", {**one, "body": "The hinge is tight again."}),
        ("search", {"q": "gate hinge", "limit": 5}),
        ("get_wiki_page", {"page": "gates"}),
        ("transition_ticket", {**one, "state": "Done", "comment": "Mended."}),
        ("update_ticket", {**one, "assignee": "ada"}),
    ]
    answers = [smith.lean(tool, **arguments) for tool, arguments in calls]
    assert (
        sum(tokens([*call, answer], "session") for call, answer in zip(calls, answers, strict=True))
        <= 2_500
    )
