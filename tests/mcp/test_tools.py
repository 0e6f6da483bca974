"""Each tool does what its REST twin does: the same JSON, the same rules, the same events."""

from tests.support.openapi import document_of, same_as_rest
from tests.support.story import make_label, make_ticket, ok

# --- identity and projects


def test_get_self(scout, fenced, cast):
    assert scout.call("get_self") == {
        "user_id": cast.scout.user_id,
        "username": "scout",
        "display_name": "Scout",
        "mode": "read",
        "project_allowlist": [],
        "news": [],
    }
    assert fenced.call("get_self")["project_allowlist"] == [cast.fenced_project]
    ok(cast.ada.patch(f"/bots/{cast.scout.user_id}", {"display_name": "Scout the Second"}))
    assert scout.call("get_self")["display_name"] == "Scout the Second"


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
        same_as_rest(app, found, "Project", "workflow_states", "labels", "templates")
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


def test_a_slug_of_several_scopes_is_listed_as_it_reads(smith, fenced, cast, ada):
    def written(title, project_id, slug):
        page = {"title": title, "slug": slug, "project_id": project_id, "body": ""}
        return ok(ada.post("/wiki/pages", page), 201)["id"]

    def listed(slug):
        """Return the position of a resource and its title, which must be that of its text."""
        rows = smith.result("resources/list")["resources"]
        (found,) = [(at, row) for at, row in enumerate(rows) if row["uri"] == f"wiki://page/{slug}"]
        read = smith.result("resources/read", {"uri": f"wiki://page/{slug}"})["contents"][0]["text"]
        title = found[1]["title"]
        assert read.startswith(f"# {title}\n")
        return found[0], title

    def listed_to_fenced(slug):
        rows = fenced.result("resources/list")["resources"]
        return [row["title"] for row in rows if row["uri"] == f"wiki://page/{slug}"]

    for slug in ("agents", "both"):
        old = written("Open", cast.open_project, slug)
        written("Fenced", cast.fenced_project, slug)
        assert listed(slug) == (0, "Fenced")
        assert listed_to_fenced(slug) == ["Fenced"]
        ok(ada.patch(f"/wiki/pages/{old}", {"body": "newer"}))
        assert listed(slug) == (0, "Open")
        # The changed page is in a project that fenced may not see.
        assert listed_to_fenced(slug) == ["Fenced"]
        both = written("Of all", None, slug)
        assert listed(slug) == (0, "Of all")
        ok(ada.patch(f"/wiki/pages/{old}", {"body": "newest"}))
        assert listed(slug)[1] == "Of all"
        ok(ada.delete(f"/wiki/pages/{both}"), 204)
        assert listed(slug) == (0, "Open")
        ok(ada.delete(f"/wiki/pages/{old}"), 204)
        assert listed(slug) == (0, "Fenced")
        if slug == "agents":
            for page in ok(ada.get("/wiki/pages"))["data"]:
                ok(ada.delete(f"/wiki/pages/{page['id']}"), 204)


# --- what hangs on a ticket


def test_relations(app, smith, fenced):
    smith.call("create_ticket", project="OPEN", title="A")
    smith.call("create_ticket", project="OPEN", title="B")
    edge = {"ticket": "OPEN-1", "type": "blocks", "target": "OPEN-2"}
    relation = smith.call("add_ticket_relation", **edge, client_request_id="r")
    assert relation.pop("client_request_id") == "r"
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
    again = smith.call("watch_ticket", ticket="OPEN-1", client_request_id="w")
    assert again == {**watcher, "client_request_id": "w"}
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
    assert row["body"] == "Second"
    assert "edit_history" not in row
    (row,) = smith.call("list_comments", ticket="OPEN-1", include_body=True)["data"]
    assert row["edit_history"] == edited["edit_history"]
    (row,) = smith.call("list_comments", ticket="OPEN-1", include_body=False)["data"]
    assert "body" not in row
    assert "edit_history" not in row
    other = ok(ada.post("/tickets/OPEN-1/comments", {"body": "Hers"}), 201)
    error = smith.refused("update_comment", comment=other["id"], body="x")
    assert error["details"]["reason"] == "not_author"
    assert smith.refused("delete_comment", comment=other["id"])["code"] == "auth.forbidden"
    gone = smith.call("delete_comment", comment=made["id"])
    assert (gone["deleted"], gone["id"]) == (True, made["id"])
    assert smith.refused("delete_comment", comment=made["id"])["code"] == "resource.gone"
    assert smith.refused("add_comment", ticket="OPEN-1", body=" ")["details"]["field"] == "body"


# --- wiki


def test_wiki_pages(app, smith, cast):
    page = smith.call("create_wiki_page", project="OPEN", title="How to", body="See [[other]].")
    same_as_rest(app, page, "WikiPage", "etag")
    assert page["slug"] == "how-to"
    smith.call("create_wiki_page", project="OPEN", title="Other", body="Back to [[how-to]].")
    found = smith.call("get_wiki_page", page="how-to")
    same_as_rest(app, found, "WikiPage", "etag", "backlinks", "files")
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
