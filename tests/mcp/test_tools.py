"""Each tool does what its REST twin does: the same JSON, the same rules, the same events."""

import pytest

from tests.support.openapi import document_of
from tests.support.story import events, make_label, make_ticket, ok


@pytest.fixture
def ada(cast):
    return cast.ada


def same_as_rest(app, shown, schema, *added):
    """The structured content is what REST answers, and what the tool adds stands beside it."""
    rest = {name: value for name, value in shown.items() if name not in added}
    document_of(app).check_component(schema, rest)
    assert set(added) <= set(shown)


# --- identity and projects


def test_get_self(scout, fenced, cast):
    assert scout.call("get_self") == {
        "user_id": cast.scout.user_id,
        "username": "scout",
        "display_name": "Scout",
        "mode": "read",
        "project_allowlist": [],
    }
    assert fenced.call("get_self")["project_allowlist"] == [cast.fenced_project]


def test_list_projects_shows_what_the_bot_may_see(smith, fenced):
    assert [row["key"] for row in smith.call("list_projects")["data"]] == ["FENCED", "OPEN"]
    assert [row["key"] for row in fenced.call("list_projects")["data"]] == ["FENCED"]
    first = smith.call("list_projects", limit=1)
    assert first["page"]["has_more"]
    second = smith.call("list_projects", limit=1, cursor=first["page"]["next_cursor"])
    assert [row["key"] for row in second["data"]] == ["OPEN"]


def test_cursors_are_the_same_as_those_of_rest(smith, cast):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, f"Ticket {number}")
    first = smith.call("list_tickets", limit=2)
    rest = ok(cast.smith.get(f"/tickets?limit=2&cursor={first['page']['next_cursor']}"))
    assert [row["title"] for row in rest["data"]] == ["Ticket 0"]
    by_project = ok(cast.smith.get(f"/projects/{cast.open_project}/tickets?limit=1"))
    rest_of_it = smith.call("list_tickets", cursor=by_project["page"]["next_cursor"])
    assert [row["title"] for row in rest_of_it["data"]] == ["Ticket 1", "Ticket 0"]


def test_get_project_tells_states_and_labels(app, smith, cast, ada):
    make_label(ada, cast.open_project, "bug")
    for name in ("OPEN", "open", cast.open_project):
        found = smith.call("get_project", project=name)
        same_as_rest(app, found, "Project", "workflow_states", "labels")
        assert next(state["name"] for state in found["workflow_states"]) == "Backlog"
        assert [label["name"] for label in found["labels"]] == ["bug"]
        assert "guide" not in found


def test_a_projects_house_rules_are_shown(smith, cast, ada):
    page = {"title": "Agents", "body": "Be kind.", "project_id": cast.open_project}
    ok(ada.post("/wiki/pages", page), 201)
    make_ticket(ada, cast.open_project)
    assert smith.call("get_project", project="OPEN")["guide"] == "wiki://page/agents"
    assert smith.call("get_ticket", ticket="OPEN-1")["guide"] == "wiki://page/agents"
    assert "guide" not in smith.call("get_project", project="FENCED")
    listed = smith.result("resources/list")["resources"]
    assert listed[0]["uri"] == "wiki://page/agents"
    read = smith.result("resources/read", {"uri": "wiki://page/agents"})
    assert "Be kind." in read["contents"][0]["text"]


# --- tickets


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
    assert {**rest, "etag": made["etag"]} == made
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
    assert error["code"] == "validation.invalid_field"


@pytest.mark.parametrize(
    ("arguments", "field", "told"),
    [
        ({"state": "Doing"}, "state", "In progress"),
        ({"labels": ["nope"]}, "labels", "bug"),
        ({"assignee": "nobody-here"}, "assignee", "ada"),
        ({"parent": "OPEN-99"}, "parent", "OPEN-99"),
        ({"title": " "}, "title", "blank"),
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
    same_as_rest(app, found, "Ticket", "relations", "watchers", "children", "etag")
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
    smith.call("create_ticket", project="OPEN", title="T", body="a b a")
    for find, count in (("a", 2), ("x", 0), ("", 0)):
        edits = [{"find": find, "replace": "y"}]
        error = smith.refused("update_ticket", ticket="OPEN-1", edits=edits)
        assert error["details"]["field"] == "edits"
        assert f"{count} times" in error["message"]
    error = smith.refused("update_ticket", ticket="OPEN-1", body="x", append="y")
    assert error["details"]["reason"] == "ambiguous"
    assert smith.call("get_ticket", ticket="OPEN-1")["body"] == "a b a"


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
    assert smith.refused("list_tickets", label="x")["details"]["field"] == "label"


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
        ({"limit": 0}, "validation.invalid_field", "limit"),
        ({"limit": 101}, "validation.invalid_field", "limit"),
        ({"cursor": "garbage"}, "validation.invalid_field", "cursor"),
    ],
)
def test_a_bad_page_is_an_error_of_the_tool(smith, arguments, code, field):
    for tool in ("list_tickets", "list_projects", "list_wiki_pages"):
        error = smith.refused(tool, **arguments)
        assert (error["code"], error["details"]["field"]) == (code, field)


# --- what hangs on a ticket


def test_relations(app, smith, fenced):
    smith.call("create_ticket", project="OPEN", title="A")
    smith.call("create_ticket", project="OPEN", title="B")
    edge = {"ticket": "OPEN-1", "type": "blocks", "target": "OPEN-2"}
    relation = smith.call("add_ticket_relation", **edge)
    document_of(app).check_component("Relation", relation)
    assert smith.refused("add_ticket_relation", **edge)["details"]["reason"] == "duplicate_key"
    circle = {"ticket": "OPEN-2", "type": "blocks", "target": "OPEN-1"}
    assert smith.refused("add_ticket_relation", **circle)["code"] == "resource.conflict"
    error = smith.refused("add_ticket_relation", ticket="OPEN-1", type="blocks", target="OPEN-9")
    assert error["details"]["field"] == "target"
    removed = smith.call("remove_ticket_relation", ticket="OPEN-2", relation=relation["id"])
    assert removed == {"deleted": True, "id": relation["id"]}
    error = smith.refused("remove_ticket_relation", ticket="OPEN-2", relation=relation["id"])
    assert error["code"] == "resource.not_found"


def test_watching(app, smith, cast):
    smith.call("create_ticket", project="OPEN", title="A")
    watcher = smith.call("watch_ticket", ticket="OPEN-1")
    document_of(app).check_component("Watcher", watcher)
    assert watcher["user_id"] == cast.smith.user_id
    assert smith.call("watch_ticket", ticket="OPEN-1", user="me") == watcher
    error = smith.refused("watch_ticket", ticket="OPEN-1", user="ada")
    assert error["details"]["reason"] == "humans_only"
    assert smith.call("unwatch_ticket", ticket="OPEN-1")["deleted"] is True
    assert smith.refused("unwatch_ticket", ticket="OPEN-1")["code"] == "resource.not_found"


def test_comments(app, smith, cast, ada):
    smith.call("create_ticket", project="OPEN", title="A")
    made = smith.call("add_comment", ticket="OPEN-1", body="First", idempotency_key="c")
    assert smith.call("add_comment", ticket="OPEN-1", body="First", idempotency_key="c") == made
    document_of(app).check_component("Comment", made)
    edited = smith.call("update_comment", comment=made["id"], body="Second")
    assert [entry["body"] for entry in edited["edit_history"]] == ["First"]
    (row,) = smith.call("list_comments", ticket="OPEN-1")["data"]
    assert "body" not in row
    assert "edit_history" not in row
    other = ok(ada.post("/tickets/OPEN-1/comments", {"body": "Hers"}), 201)
    error = smith.refused("update_comment", comment=other["id"], body="x")
    assert error["details"]["reason"] == "not_author"
    assert smith.refused("delete_comment", comment=other["id"])["code"] == "auth.forbidden"
    assert smith.call("delete_comment", comment=made["id"]) == {"deleted": True, "id": made["id"]}
    assert smith.refused("delete_comment", comment=made["id"])["code"] == "resource.gone"
    assert smith.refused("add_comment", ticket="OPEN-1", body=" ")["details"]["field"] == "body"


# --- wiki


def test_wiki_pages(app, smith, cast):
    page = smith.call("create_wiki_page", project="OPEN", title="How to", body="See [[other]].")
    same_as_rest(app, page, "WikiPage", "etag")
    assert page["slug"] == "how-to"
    smith.call("create_wiki_page", project="OPEN", title="Other", body="Back to [[how-to]].")
    found = smith.call("get_wiki_page", page="how-to")
    same_as_rest(app, found, "WikiPage", "etag", "backlinks")
    assert [row["slug"] for row in found["backlinks"]] == ["other"]
    saved = smith.call(
        "update_wiki_page", page="how-to", append="More.", summary="Add", if_match=found["etag"]
    )
    assert (saved["body"], saved["revision_number"]) == ("See [[other]].\nMore.", 2)
    edits = [{"find": "More", "replace": "Less"}]
    assert smith.call("update_wiki_page", page=page["id"], edits=edits)["body"].endswith("Less.")
    error = smith.refused("update_wiki_page", page="how-to", body="x", if_match=found["etag"])
    assert error["details"]["reason"] == "etag_mismatch"
    revisions = smith.call("list_wiki_revisions", page="how-to")["data"]
    assert [row["revision_number"] for row in revisions] == [3, 2, 1]
    whole = smith.call("list_wiki_revisions", page="how-to", include_body=True)["data"]
    assert whole[-1]["body"] == "See [[other]]."
    rows = smith.call("list_wiki_pages", project="OPEN")["data"]
    assert [row["slug"] for row in rows] == ["other", "how-to"]
    (row,) = smith.call("list_wiki_pages", limit=1, include_body=True)["data"]
    assert row["body"] == "Back to [[how-to]]."
    assert smith.call("delete_wiki_page", page="how-to")["id"] == page["id"]
    assert smith.refused("get_wiki_page", page="how-to")["code"] == "resource.gone"


def test_the_scope_of_a_slug(smith, fenced, cast, ada):
    for project in (cast.open_project, cast.fenced_project, None):
        body = {"title": "Rules", "body": f"of {project}", "project_id": project}
        ok(ada.post("/wiki/pages", body), 201)
    error = smith.refused("get_wiki_page", page="rules")
    assert error["details"]["reason"] == "ambiguous_slug"
    found = smith.call("get_wiki_page", page="rules", project="OPEN")
    assert found["project_id"] == cast.open_project
    for scope in ("null", "global"):
        assert smith.call("get_wiki_page", page="rules", project=scope)["project_id"] is None
    read = smith.result("resources/read", {"uri": "wiki://page/rules"})
    assert "of None" in read["contents"][0]["text"]
    error = fenced.refused("update_wiki_page", page="rules", project="OPEN", body="x")
    assert error["details"]["reason"] == "project_not_in_allowlist"
    fenced.call("update_wiki_page", page="rules", project="FENCED", body="mine")


def test_global_pages_need_a_permission(smith, cast, ada):
    error = smith.refused("create_wiki_page", title="For all")
    assert error["details"]["reason"] == "bot_cannot_edit_global_wiki"
    ok(ada.patch(f"/bots/{cast.smith.user_id}", {"can_edit_global_wiki": True}))
    assert smith.call("create_wiki_page", title="For all")["project_id"] is None


def test_a_page_named_in_the_body_of_a_project_that_is_not_there(smith):
    error = smith.refused("create_wiki_page", title="T", project="NOPE")
    assert (error["code"], error["details"]["field"]) == ("validation.invalid_field", "project")


def test_long_pages_come_in_parts(smith, cast, ada):
    text = "".join(f"line {number}\n" for number in range(9000))
    ok(ada.post("/wiki/pages", {"title": "Long", "body": text, "project_id": None}), 201)
    parts, offset = [], 0
    while offset is not None:
        found = smith.call("get_wiki_page", page="long", body_offset=offset)
        parts.append(found["body"])
        assert found["body_length"] == len(text)
        offset = found["next_body_offset"]
    assert "".join(parts) == text
    assert len(smith.call("get_wiki_page", page="long", body_limit=10)["body"]) == 10
    error = smith.refused("get_wiki_page", page="long", body_offset=-1)
    assert error["details"]["field"] == "body_offset"


# --- sticky notes


def test_sticky_notes(app, smith, cast):
    note = smith.call(
        "create_sticky_note", project="OPEN", body="# Mend\nthe gate", color="#ffee00"
    )
    document_of(app).check_component("StickyNote", note)
    changed = smith.call("update_sticky_note", sticky_note=note["id"], clear_fields=["color"])
    assert (changed["color"], changed["body"]) == (None, "# Mend\nthe gate")
    (row,) = smith.call("list_sticky_notes", project="OPEN", include_body=True)["data"]
    assert row["body"] == "# Mend\nthe gate"
    ticket = smith.call("convert_sticky_note", sticky_note=note["id"], assignee="me")
    same_as_rest(app, ticket, "Ticket", "etag")
    assert (ticket["title"], ticket["assignee"]["username"]) == ("Mend", "smith")
    error = smith.refused("convert_sticky_note", sticky_note=note["id"])
    assert error["details"]["reason"] == "already_converted"
    assert smith.call("delete_sticky_note", sticky_note=note["id"])["deleted"] is True
    assert smith.refused("delete_sticky_note", sticky_note=note["id"])["code"] == (
        "resource.not_found"
    )


def test_bots_have_no_personal_notes(smith, cast, ada):
    note = ok(ada.post("/sticky-notes", {"body": "Mine"}), 201)
    assert smith.call("list_sticky_notes")["data"] == []
    error = smith.refused("create_sticky_note", body="Mine too")
    assert error["details"]["reason"] == "bots_have_no_personal_notes"
    error = smith.refused("convert_sticky_note", sticky_note=note["id"], project="OPEN")
    assert error["code"] == "resource.not_found"
