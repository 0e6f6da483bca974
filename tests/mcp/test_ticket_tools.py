"""The tools of tickets do what their REST twins do, by the names that agents have for things."""

import re

import pytest

from app.tickets import list_pages
from tests.support.openapi import document_of, same_as_rest
from tests.support.statements import statements
from tests.support.story import events, make_label, make_ticket, ok, state_ids


def test_create_ticket_by_names(app, smith, cast, ada):
    make_label(ada, cast.open_project, "Bug")
    epic = make_ticket(ada, cast.open_project, "Epic", type="epic")
    made = smith.call(
        "create_ticket",
        project="open",
        title="  Mend the gate ",
        body="It hangs.",
        state="IN REVIEW",
        assignee="bo",
        labels=["bug"],
        parent=epic["display_id"],
        priority="high",
        due_date="2026-12-24",
        client_request_id="mine",
    )
    assert made.pop("client_request_id") == "mine"
    same_as_rest(app, made, "Ticket", "etag")
    assert made["title"] == "Mend the gate"
    assert made["state"]["name"] == "In review"
    assert made["assignee"]["username"] == "bo"
    assert [label["name"] for label in made["labels"]] == ["Bug"]
    assert made["parent"]["display_id"] == epic["display_id"]
    assert (made["priority"], made["due_date"]) == ("high", "2026-12-24")
    rest = ok(ada.get(f"/tickets/{made['id']}"))
    assert {**rest, "etag": made["etag"], "similar": []} == made
    (event,) = events(app, event_type="ticket.created", actor_user_id=cast.smith.user_id)
    assert event.actor_kind == "bot"


def test_rest_names_of_arguments_work_too(smith, cast):
    state = smith.call("get_project", project="OPEN")["workflow_states"][1]["id"]
    made = smith.call(
        "create_ticket",
        project_id=cast.open_project,
        title="By id",
        state_id=state,
        assignee_user_id=cast.bo.user_id,
        label_ids=[],
    )
    assert made["state_id"] == state
    assert made["assignee_user_id"] == cast.bo.user_id
    assert smith.call("get_ticket", ticket_id=made["id"])["display_id"] == "OPEN-1"


def test_an_idempotency_key_creates_once(app, smith):
    first = smith.call("create_ticket", project="OPEN", title="Once", idempotency_key="k")
    again = smith.call("create_ticket", project="OPEN", title="Once", idempotency_key="k")
    assert again == first
    error = smith.refused("create_ticket", project="OPEN", title="Other", idempotency_key="k")
    assert error["details"]["reason"] == "idempotency_mismatch"
    assert len(events(app, event_type="ticket.created")) == 1
    error = smith.refused("create_ticket", project="OPEN", title="Once", idempotency_key="x" * 129)
    assert error["details"]["field"] == "idempotency_key"


@pytest.mark.parametrize(
    ("arguments", "field", "told"),
    [
        ({"state": "Doing"}, "state", "In progress"),
        ({"labels": ["nope"]}, "labels", "bug"),
        ({"assignee": "nobody-here"}, "assignee", "ada"),
        ({"parent": "OPEN-99"}, "parent", "OPEN-99"),
        ({"title": " "}, "title", "blank"),
        ({"title": ""}, "title", "blank"),
    ],
)
def test_an_unknown_name_is_refused_with_the_valid_ones(smith, cast, ada, arguments, field, told):
    make_label(ada, cast.open_project, "bug")
    error = smith.refused("create_ticket", **{"project": "OPEN", "title": "T", **arguments})
    assert error["code"] == "validation.invalid_field"
    assert error["details"]["field"] == field
    assert told in error["message"]


def test_an_unknown_project_is_refused_with_the_valid_ones(smith, fenced):
    error = smith.refused("create_ticket", project="NOPE", title="T")
    assert error["code"] == "resource.not_found"
    assert error["details"]["valid"] == ["FENCED", "OPEN"]
    error = fenced.refused("get_project", project="OPEN")
    assert (error["code"], error["details"]["valid"]) == ("resource.not_found", ["FENCED"])


def test_get_ticket_has_everything_around_it(app, smith, cast, ada):
    epic = make_ticket(ada, cast.open_project, "Epic", type="epic")
    story = make_ticket(ada, cast.open_project, "Story", parent_ticket_id=epic["id"])
    ok(ada.post(f"/tickets/{epic['id']}/watchers", {}), 201)
    relation = {"type": "blocks", "target_ticket_id": epic["display_id"]}
    ok(ada.post(f"/tickets/{story['id']}/relations", relation), 201)
    found = smith.call("get_ticket", ticket=epic["display_id"])
    around = ("relations", "links", "watchers", "children", "etag", "files")
    same_as_rest(app, found, "Ticket", *around)
    document = document_of(app)
    (child,) = found["children"]
    document.check_component("TicketSummary", child)
    (relation,) = found["relations"]
    document.check_component("Relation", relation)
    (watcher,) = found["watchers"]
    document.check_component("Watcher", watcher)
    assert found["etag"] == ada.get(f"/tickets/{epic['id']}").headers["ETag"]


def test_update_ticket_changes_what_is_named(smith, cast, ada):
    make_label(ada, cast.open_project, "bug")
    smith.call("create_ticket", project="OPEN", title="T", body="one", assignee="me")
    changed = smith.call("update_ticket", ticket="OPEN-1", title="U", labels=["bug"])
    assert (changed["title"], changed["body"]) == ("U", "one")
    assert smith.call("update_ticket", ticket="OPEN-1", append="two")["body"] == "one\ntwo"
    edits = [{"find": "one", "replace": "1"}, {"find": "two", "replace": ""}]
    assert smith.call("update_ticket", ticket="OPEN-1", edits=edits)["body"] == "1\n"
    assert smith.call("update_ticket", ticket="OPEN-1", body="")["body"] == ""
    cleared = smith.call("update_ticket", ticket="OPEN-1", clear_fields=["assignee", "labels"])
    assert (cleared["assignee"], cleared["labels"]) == (None, [])
    smith.call("update_ticket", ticket="OPEN-1", labels=["bug"])
    assert smith.call("update_ticket", ticket="OPEN-1", labels=None)["labels"] == []
    smith.call("update_ticket", ticket="OPEN-1", assignee="me")
    assert smith.call("update_ticket", ticket="OPEN-1", assignee=None)["assignee"] is None
    smith.call("update_ticket", ticket="OPEN-1", assignee="me")
    assert smith.call("update_ticket", ticket="OPEN-1", assignee="none")["assignee"] is None


def test_an_edit_must_hit_exactly_once(smith):
    smith.call("create_ticket", project="OPEN", title="T", body="a b a cccc")
    for find, count in (("a", 2), ("x", 0), ("", 0), ("cc", 3)):
        edits = [{"find": find, "replace": "y"}]
        error = smith.refused("update_ticket", ticket="OPEN-1", edits=edits)
        assert error["details"]["field"] == "edits"
        assert f"{count} times" in error["message"]
    error = smith.refused("update_ticket", ticket="OPEN-1", body="x", append="y")
    assert error["details"]["reason"] == "ambiguous"
    assert smith.call("get_ticket", ticket="OPEN-1")["body"] == "a b a cccc"


def test_if_match_guards_a_change(smith):
    made = smith.call("create_ticket", project="OPEN", title="T")
    smith.call("update_ticket", ticket="OPEN-1", title="U", if_match=made["etag"])
    error = smith.refused("update_ticket", ticket="OPEN-1", title="V", expected_etag=made["etag"])
    assert error["details"]["reason"] == "etag_mismatch"
    assert error["details"]["etag"] == smith.call("get_ticket", ticket="OPEN-1")["etag"]
    error = smith.refused("delete_ticket", ticket="OPEN-1", if_match=made["etag"])
    assert error["details"]["reason"] == "etag_mismatch"


def test_work_is_claimed_by_one_bot_only(smith, fenced, cast):
    make_ticket(cast.ada, cast.fenced_project)
    claim = {"ticket": "FENCED-1", "assignee": "me", "expected_assignee": "none"}
    smith.call("update_ticket", **claim)
    error = fenced.refused("update_ticket", **claim)
    assert error["code"] == "resource.conflict"
    assert error["details"]["reason"] == "assignee_mismatch"
    assert error["details"]["assignee"]["username"] == "smith"
    move = {"ticket": "FENCED-1", "state": "done", "expected_assignee": "me"}
    assert fenced.refused("transition_ticket", **move)["code"] == "resource.conflict"
    assert smith.call("transition_ticket", **move)["state"]["name"] == "Done"


def test_other_tools_are_named_where_an_argument_belongs_to_them(smith):
    smith.call("create_ticket", project="OPEN", title="T")
    error = smith.refused("update_ticket", ticket="OPEN-1", state="Done")
    assert error["code"] == "request.validation_error"
    assert "transition_ticket" in error["message"]


def test_transition_with_a_comment(app, smith):
    smith.call("create_ticket", project="OPEN", title="T")
    moved = smith.call("transition_ticket", ticket="OPEN-1", state="done", comment="All well.")
    assert moved["state"]["category"] == "done"
    (comment,) = smith.call("list_comments", ticket="OPEN-1", include_body=True)["data"]
    assert comment["body"] == "All well."
    assert len(events(app, event_type="ticket.state_changed")) == 1


def test_delete_ticket(smith):
    made = smith.call("create_ticket", project="OPEN", title="T")
    assert smith.call("delete_ticket", ticket="OPEN-1") == {"deleted": True, "id": made["id"]}
    assert smith.refused("get_ticket", ticket="OPEN-1")["code"] == "resource.gone"
    assert smith.refused("update_ticket", ticket="OPEN-1", title="x")["code"] == "resource.gone"


def test_list_tickets_by_every_filter(smith, cast, ada):
    make_label(ada, cast.open_project, "Bug")
    epic = make_ticket(ada, cast.open_project, "Epic", type="epic")
    smith.call(
        "create_ticket",
        project="OPEN",
        title="Mine",
        assignee="me",
        labels=["bug"],
        state="Done",
        priority="urgent",
        parent=epic["id"],
    )
    make_ticket(ada, cast.fenced_project, "Free")

    def titles(**filters):
        return [row["title"] for row in smith.call("list_tickets", **filters)["data"]]

    assert titles() == ["Free", "Mine", "Epic"]
    assert titles(project="OPEN") == ["Mine", "Epic"]
    assert titles(project="OPEN", state="done") == ["Mine"]
    assert titles(state="done") == ["Mine"]
    assert titles(state="backlog") == ["Free", "Epic"]
    assert titles(state_category="done") == ["Mine"]
    assert titles(ticket_type="epic") == ["Epic"]
    assert titles(assignee="me") == titles(assignee="smith") == ["Mine"]
    assert titles(assignee="none") == ["Free", "Epic"]
    assert titles(reporter="ada") == ["Free", "Epic"]
    assert titles(label="bug") == titles(project="OPEN", label="BUG") == ["Mine"]
    assert titles(priority="urgent") == ["Mine"]
    assert titles(parent="OPEN-1") == ["Mine"]
    assert titles(ready=True) == titles(ready="true") == ["Free"]
    moment = smith.call("get_ticket", ticket="FENCED-1")["updated_at"]
    assert titles(updated_since=moment) == ["Free"]
    assert smith.refused("list_tickets", state="Doing")["details"]["field"] == "state"
    assert smith.refused("list_tickets", label="x")["details"]["field"] == "labels"
    error = smith.refused("list_tickets", project="OPEN", label="x")
    assert error["details"]["field"] == "labels"


def test_rows_of_lists_are_summaries(app, smith):
    smith.call("create_ticket", project="OPEN", title="T", body="Long text")
    (row,) = smith.call("list_tickets")["data"]
    assert "body" not in row
    assert None not in row.values()
    (row,) = smith.call("list_tickets", include_body=True)["data"]
    assert row["body"] == "Long text"


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ({"limit": -1}, "validation.invalid_field", "limit"),
        ({"limit": 101}, "validation.invalid_field", "limit"),
        ({"cursor": "garbage"}, "validation.invalid_field", "cursor"),
    ],
)
def test_a_bad_page_is_an_error_of_the_tool(smith, arguments, code, field):
    for tool in ("list_tickets", "list_projects", "list_wiki_pages"):
        error = smith.refused(tool, **arguments)
        assert (error["code"], error["details"]["field"]) == (code, field)


def test_a_call_reads_its_project_ticket_and_names_once(app, cast, smith):
    """A change of a ticket by name looks the ticket up only once."""
    label = make_label(cast.ada, cast.open_project, "once")["name"]
    with statements(app) as creating:
        made = smith.call(
            "create_ticket", project="OPEN", title="x", state="to do", labels=[label], assignee="me"
        )
    # It also reads what the receipt needs.
    assert sum("JOIN projects ON projects.key" in one.replace('"', "") for one in creating) == 1
    assert reads(creating, "projects") == 0
    with statements(app) as moving:
        smith.call("transition_ticket", ticket=made["display_id"], state="Done")
    # One to find it, and one for the result.
    assert reads(moving, "tickets") == 2
    with statements(app) as getting:
        smith.call("get_ticket", ticket=made["display_id"])
    # One with its project, and one for its children.
    assert reads(getting, "tickets") == 2
    assert reads(getting, "projects") == 0


def reads(told, table):
    """The number of statements whose first table is this one."""
    return sum(f"FROM {table} " in re.sub(r"\s+", " ", one) for one in told)


def test_tickets_are_counted_without_rows(smith, fenced, cast, ada):
    bug = make_label(ada, cast.open_project, "bug")["id"]
    make_ticket(ada, cast.open_project, label_ids=[bug], assignee_user_id=cast.bo.user_id)
    make_ticket(ada, cast.open_project, priority="high", label_ids=[bug])
    make_ticket(ada, cast.open_project, type="epic")
    make_ticket(ada, cast.fenced_project)
    deleted = make_ticket(ada, cast.open_project)["id"]
    ok(ada.delete(f"/tickets/{deleted}"), 204)

    def counts(by, **filters):
        return smith.call("list_tickets", count_by=by, **filters)["counts"]

    assert counts("state") == {"Backlog": 4}
    assert counts("type") == {"story": 3, "epic": 1}
    assert counts("priority", project="OPEN") == {"medium": 2, "high": 1}
    assert counts("assignee") == {"none": 3, "bo": 1}
    assert counts("label", project="OPEN") == {"bug": 2, "none": 1}
    assert counts("type", label="bug") == {"story": 2}
    assert smith.call("list_tickets", limit=0) == {"total": 4}
    assert smith.call("list_tickets", limit=0, ready=True, priority="high") == {"total": 1}
    assert fenced.call("list_tickets", limit=0) == {"total": 1}
    assert smith.refused("list_tickets", limit=-1)["details"]["field"] == "limit"


def test_a_count_reads_a_bounded_number_of_tickets_and_says_so(smith, cast, ada, monkeypatch):
    for number in range(4):
        make_ticket(ada, cast.open_project, priority="high" if number % 2 else "low")
    monkeypatch.setattr(list_pages, "MAX_COUNT", 3)
    monkeypatch.setattr(list_pages, "_LIMIT", 4)
    total = smith.call("list_tickets", limit=0)
    assert (total["total"], "Only the newest" in total["note"]) == (3, True)
    counted = smith.call("list_tickets", count_by="priority")
    assert counted["counts"] == {"high": 2, "low": 1}
    assert "Narrow the filters" in counted["note"]
    # Only the newest three tickets are checked, so these are those with high priority among them.
    assert smith.call("list_tickets", limit=0, priority="high")["total"] == 2
    assert smith.call("list_tickets", limit=0, assignee="me") == {"total": 0}


def test_a_list_takes_several_priorities_and_labels(smith, cast, ada):
    labels = [make_label(ada, cast.open_project, name)["id"] for name in ("bug", "ui", "api")]
    for number, priority in enumerate(("low", "medium", "high", "urgent")):
        make_ticket(
            ada, cast.open_project, priority=priority, label_ids=labels[number : number + 1]
        )

    def found(**filters):
        rows = smith.call("list_tickets", sort="created", **filters)["data"]
        return [row["display_id"] for row in rows]

    assert found(priority=["low", "urgent"]) == ["OPEN-4", "OPEN-1"]
    assert found(priority="high") == ["OPEN-3"]
    assert found(labels=["bug", "UI"]) == ["OPEN-2", "OPEN-1"]
    assert found(label="api") == found(label_id="api", project="OPEN") == ["OPEN-3"]
    assert found(labels=["bug", "ui"], priority=["medium", "high"]) == ["OPEN-2"]
    assert found(labels=[], priority=[]) == found()
    assert "bug" in smith.refused("list_tickets", labels=["bug", "no"])["message"]
    error = smith.refused("list_tickets", priority=["low", "huge"])
    assert error["code"] == "request.validation_error"


def test_all_that_is_mine_is_one_list(smith, cast, ada):
    done = state_ids(ada, cast.open_project)[-1]
    mine = {"assignee_user_id": cast.smith.user_id}
    for fields in ({}, mine, {**mine, "state_id": done}, {**mine, "due_date": "2026-12-01"}):
        make_ticket(ada, cast.open_project, **fields)
    make_ticket(ada, cast.fenced_project, due_date="2026-11-30", **mine)
    rows = smith.call("list_tickets", assignee="me", state_category="open", sort="due")["data"]
    assert [row["display_id"] for row in rows] == ["FENCED-1", "OPEN-4", "OPEN-2"]
    open_ones = {"assignee": "me", "state_category": "open"}
    assert smith.call("list_tickets", limit=0, **open_ones) == {"total": 3}
    assert smith.call("list_tickets", count_by="state", **open_ones)["counts"] == {"Backlog": 3}


def test_a_ready_list_comes_in_the_order_in_which_next_picks(smith, cast, ada):
    for priority in ("low", "urgent", "medium", "urgent"):
        make_ticket(ada, cast.open_project, priority=priority)
    make_ticket(ada, cast.fenced_project, priority="high")
    listed = [row["display_id"] for row in smith.call("list_tickets", ready=True)["data"]]
    picked = [smith.call("update_ticket", ticket="next")["display_id"] for _ in range(len(listed))]
    assert listed == picked == ["OPEN-2", "OPEN-4", "FENCED-1", "OPEN-3", "OPEN-1"]


def test_a_hand_over_links_too(smith, cast, ada):
    make_ticket(ada, cast.open_project)
    pull = "https://github.com/docket/app/pull/5"
    handed = smith.call("update_ticket", ticket="OPEN-1", assignee="bo", links=[pull])
    assert handed["assignee"]["username"] == "bo"
    assert [link["title"] for link in handed["links"]] == ["docket/app#5"]
    again = smith.lean("update_ticket", ticket="OPEN-1", links=[pull, "https://example.org/x"])
    assert [link["url"] for link in again["links"]] == [pull, "https://example.org/x"]
    assert set(again["links"][0]) == {
        "id",
        "url",
        "title",
        "kind",
        "created_by",
        "created_at",
        "updated_at",
    }
    assert smith.lean("get_ticket", ticket="OPEN-1")["links"] == again["links"]


def test_links_are_added_all_or_none(smith, cast, ada):
    make_ticket(ada, cast.open_project)
    wrong = ["https://example.org", "http://example.org"]
    error = smith.refused("update_ticket", ticket="OPEN-1", title="New", links=wrong)
    assert error["details"] == {"field": "links[1].url", "reason": "not_https"}
    now = smith.call("get_ticket", ticket="OPEN-1")
    assert (now["links"], now["title"]) == ([], "A ticket")
    many = [f"https://example.org/{number}" for number in range(51)]
    error = smith.refused("update_ticket", ticket="OPEN-1", links=many)
    assert error["details"] == {"field": "links", "reason": "too_many"}
